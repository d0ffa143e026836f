// SPDX-License-Identifier: Apache-2.0

package park

import (
	"os"
	"sync"
)

// afd is a backend of polls that each are one request to the system: it ends when the
// socket is readable, and its end is told on a queue. So it is on Windows, whose socket
// driver is called AFD. What asks the system is a requester, so that the logic runs in
// tests on every system.
type afd struct {
	sys requester

	mu      sync.Mutex
	polls   map[int]*poll      // by socket; of each at most one
	pending map[*poll]struct{} // these, and those that nobody waits for any more
	spare   []*poll
	closing bool
	failed  bool // nobody is in wait any more, or ever will be
}

// requester is the system's side. Only next blocks, and is called by one goroutine; the
// others are called under one lock.
type requester interface {
	// request starts p for its socket. It does not end before its end was returned by next,
	// and until then the system may write to it.
	request(p *poll) error
	// cancel makes p end soon, if it has not.
	cancel(p *poll)
	// next returns a poll that has ended; nil if it was stopped, or if there is none
	// and it shall not wait.
	next(wait bool) (*poll, error)
	// ended is told of each that next returned, before it is used again.
	ended(p *poll)
	// stop makes a next return nil.
	stop()
	// free gives back what the system holds. No poll is pending then.
	free()
}

// poll is one request.
type poll struct {
	fd    int
	token uint64
	sys   any //nolint:unused // the requester's own, on Windows
}

// spares is how many polls that have ended are kept for others.
const spares = 256

func newAFD(sys requester) *afd {
	return &afd{sys: sys, polls: map[int]*poll{}, pending: map[*poll]struct{}{}}
}

// arm leaves a poll that is under way as it is: whether it ends for what is there already
// or for what comes, it wakes the one who waits now.
func (a *afd) arm(fd int, token uint64, first bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.polls[fd]; p != nil {
		if !first {
			p.token = token
			return nil
		}
		a.drop(p) // that of a socket which was closed, and had this number
	}
	p := a.take()
	p.fd, p.token = fd, token
	if err := a.sys.request(p); err != nil {
		a.keep(p)
		return err
	}
	a.polls[fd] = p
	a.pending[p] = struct{}{}
	return nil
}

func (a *afd) disarm(fd int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.polls[fd]; p != nil {
		a.drop(p)
	}
}

// drop makes nobody wait for p. mu is held, as in all below but wait and close.
func (a *afd) drop(p *poll) {
	delete(a.polls, p.fd)
	a.sys.cancel(p)
}

func (a *afd) take() *poll {
	if n := len(a.spare); n > 0 {
		p := a.spare[n-1]
		a.spare = a.spare[:n-1]
		return p
	}
	return new(poll)
}

func (a *afd) keep(p *poll) {
	if len(a.spare) < spares {
		a.spare = append(a.spare, p)
	}
}

func (a *afd) wait(tokens []uint64) (int, error) {
	for {
		if a.over() {
			a.sys.free()
			return 0, os.ErrClosed
		}
		n, err := a.collect(tokens)
		switch {
		case err != nil:
			a.mu.Lock()
			a.failed = true
			a.mu.Unlock()
			return 0, err
		case n > 0:
			return n, nil
		}
	}
}

// collect waits for the end of a poll, and takes those with it that have ended as well.
func (a *afd) collect(tokens []uint64) (n int, err error) {
	for wait := true; n < len(tokens); wait = false {
		p, err := a.sys.next(wait)
		if err != nil {
			return 0, err
		}
		if p == nil {
			break
		}
		if token, ok := a.ended(p); ok {
			tokens[n] = token
			n++
		}
	}
	return n, nil
}

// ended notes that p has, and returns for whom, if somebody waits for it.
func (a *afd) ended(p *poll) (token uint64, wanted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, p)
	a.sys.ended(p)
	if wanted = a.polls[p.fd] == p; wanted {
		delete(a.polls, p.fd)
	}
	token = p.token
	a.keep(p)
	return token, wanted
}

func (a *afd) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closing && len(a.pending) == 0
}

// close cancels all polls; wait returns when the last of them has ended. If wait has failed, nobody
// learns of their end, so their memory is kept for good: the system may still write to it.
func (a *afd) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closing = true
	clear(a.polls)
	for p := range a.pending {
		a.sys.cancel(p)
	}
	switch {
	case !a.failed:
		a.sys.stop()
	case len(a.pending) == 0:
		a.sys.free()
	default:
		abandoned.Store(a, nil)
	}
}

// abandoned keeps the memory of polls of which the system never told the end.
var abandoned sync.Map
