// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// carrier carries one direction, from one device to the other, with a goroutine that has a
// thread for itself: the runtime's timers have steps of a millisecond, the system's have not.
type carrier struct {
	from, to int // devices, nonblocking
	wake     int // an eventfd
	held     held
	buffers  buffers
	scratch  [virtioSize + 1<<16]byte

	mu     sync.Mutex // over what follows
	line   *line
	counts Counts // but for what line counts
	ended  bool
}

// batch is how many packets are read before those that are due get their turn.
const batch = 64

// early is how much earlier than due a packet may be delivered, so that those that are due
// together need one wake-up.
const early = 10 * time.Microsecond

func newCarrier(from, to int, l *line) (*carrier, error) {
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	return &carrier{from: from, to: to, wake: wake, line: l}, err
}

// run carries packets until end is called.
func (c *carrier) run() {
	runtime.LockOSThread() // and never unlocks: the thread's timers are precise, and it ends with this
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	for !c.isEnded() {
		more := c.read()
		c.deliver(time.Now())
		if !more {
			c.wait()
		}
	}
}

// read takes what came, and says whether there may be more.
func (c *carrier) read() (more bool) {
	for range batch {
		n, err := unix.Read(c.from, c.scratch[:])
		if err != nil {
			return errors.Is(err, unix.EINTR)
		}
		if n > virtioSize {
			c.admit(c.scratch[:n])
		}
	}
	return true
}

func (c *carrier) admit(packet []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := segmentsOf(packet)
	for _, r := range c.line.admit(time.Now(), s) {
		buf := c.buffers.get(len(packet))
		if r.first == 0 && r.end == s.count {
			buf = append(buf, packet...)
		} else {
			buf = s.cut(buf, packet, r.first, r.end)
		}
		c.held.add(buf, r.due)
	}
}

// deliver writes what is due.
func (c *carrier) deliver(now time.Time) {
	for c.held.len() > 0 && !c.held.next().due.After(now.Add(early)) {
		data := c.held.take()
		if c.mayDeliver(len(data) - virtioSize) {
			if _, err := unix.Write(c.to, data); err != nil {
				c.mu.Lock()
				c.counts.Refused++
				c.mu.Unlock()
			}
		}
		c.buffers.put(data)
	}
}

// mayDeliver counts a packet, and says whether the link is up.
func (c *carrier) mayDeliver(bytes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line.down {
		c.counts.Down++
		return false
	}
	c.counts.Packets++
	c.counts.Bytes += uint64(bytes)
	return true
}

// wait waits until a packet comes or is due, or for end.
func (c *carrier) wait() {
	var limit *unix.Timespec
	if c.held.len() > 0 {
		d := time.Until(c.held.next().due)
		if d <= early {
			return
		}
		ts := unix.NsecToTimespec(int64(d))
		limit = &ts
	}
	fds := []unix.PollFd{{Fd: int32(c.from), Events: unix.POLLIN}, {Fd: int32(c.wake), Events: unix.POLLIN}}
	_, _ = unix.Ppoll(fds, limit, nil) // whatever ended it, the loop looks again
}

func (c *carrier) isEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// end lets run return.
func (c *carrier) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	_, _ = unix.Write(c.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // its counter cannot be full
}

func (c *carrier) change(do func(*line)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c.line)
}

func (c *carrier) count() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts
	n.Lost, n.Full, n.Down = c.line.lost, c.line.full, n.Down+c.line.counts.down
	return n
}
