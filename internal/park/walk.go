// SPDX-License-Identifier: Apache-2.0

package park

import "time"

// The kernel forgets a socket that is closed, and tells nobody. If a program closes a socket that it kept,
// such as one that its dialer made, the connection above it would stay parked for good. So while any handle
// is parked a walk goes round the table, and wakes the handles whose descriptor is closed.
//
// Nothing can report such a close at once without a goroutine for each connection:
//
//   - The runtime ends the waits on a descriptor that is closed, but each wait needs a goroutine.
//   - The kernel takes it off the epoll or kqueue set without an event. A duplicate of it would stay there,
//     and so would what io_uring polls, but each keeps the socket open: the peer would not hear of the
//     Close either.
//   - The program calls the Close of its own value. No code of ours lies in between, and nothing becomes
//     unreachable, as the transport holds the same value.
//   - Events of sock_diag come when the system has done with a TCP connection, which may be long after its
//     Close, and report the connections of all processes.
const (
	// walkPace is the time between two steps of the walk.
	walkPace = 5 * time.Second
	// walkAtOnce is how many connections each step looks at: in most processes, all of them. A look costs
	// about 0.2 us, so this many cost 3 ms: less than a thousandth of the time.
	walkAtOnce = 16 << 10
	// walkSteps is how many steps a whole round takes at most.
	walkSteps = 30
)

// share returns how many of the slots a step looks at.
func share(slots int) int { return min(max(walkAtOnce, (slots+walkSteps-1)/walkSteps), slots) }

// look is one parked handle that the walk has to look at.
type look struct {
	h   *Handle
	gen uint32
}

// keepWalking makes sure that the walk goes on, because a handle has parked.
func (p *poller) keepWalking() {
	if p.walking.Load() || p.set.pace == 0 {
		return
	}
	p.set.mu.Lock()
	defer p.set.mu.Unlock()
	if p.walking.Swap(true) {
		return
	}
	if p.walk == nil {
		p.walk = time.AfterFunc(p.set.pace, p.stride)
		return
	}
	p.walk.Reset(p.set.pace)
}

// stopWalking is called at the end of the poller. set.mu is held. A step under way finds out by itself that
// the poller has stopped.
func (p *poller) stopWalking() {
	if p.walk != nil {
		p.walk.Stop()
	}
}

// stride is a step of the walk, and the timer's task.
func (p *poller) stride() {
	p.step()
	p.set.mu.Lock()
	defer p.set.mu.Unlock()
	if p.set.p.Load() != p {
		return // it has stopped
	}
	// A handle that parks is counted before keepWalking looks whether there is a walk. So either
	// keepWalking finds none, or the count is seen here.
	p.walking.Store(false)
	if p.set.parked.Sum() > 0 {
		p.walking.Store(true)
		p.walk.Reset(p.set.pace)
	}
}

// step looks at the next part of the table.
func (p *poller) step() {
	var looks [batch]look
	for more, left := true, -1; more; {
		var n int
		n, left, more = p.next(&looks, left)
		for _, l := range looks[:n] {
			// The generation tells whether it is parked still, or again.
			if l.h.orphaned() && l.h.wakeGen(l.gen) {
				l.h.owner.Wake()
			}
		}
	}
}

// next takes the parked handles out of the next slots: at most batch handles, out of at most left slots. A
// negative left begins a step. rest is how many slots are left, more says that the step goes on.
func (p *poller) next(looks *[batch]look, left int) (n, rest int, more bool) {
	p.set.mu.Lock()
	defer p.set.mu.Unlock()
	slots := int(p.table.n)
	if p.set.p.Load() != p {
		return 0, 0, false
	}
	if left < 0 {
		left = share(slots)
	}
	for ; left > 0 && n < batch; left-- {
		if p.walked >= slots {
			p.walked = 0
		}
		p.walked++
		h := p.table.get(uint32(p.walked))
		if h == nil {
			continue
		}
		if w := h.load(); w.state() == parked {
			looks[n] = look{h, w.gen()}
			n++
		}
	}
	return n, left, left > 0
}

// orphaned reports whether the socket was closed.
func (h *Handle) orphaned() bool {
	return h.owner.RawConn().Control(func(uintptr) {}) != nil
}
