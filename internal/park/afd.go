// SPDX-License-Identifier: Apache-2.0

package park

import (
	"os"
	"sync"
)

// afd is a backend in which each poll is one request to the system. The request ends when the socket is
// readable, and the system reports its end on a queue. Windows works like that; its socket driver is called
// AFD. A requester talks to the system, so that the logic runs in tests on every system.
type afd struct {
	sys requester

	mu      sync.Mutex
	polls   map[int]*poll      // by socket; at most one for each
	pending map[*poll]struct{} // these, and polls that have not ended though nobody waits for them
	spare   []*poll
	closing bool
	failed  bool // wait has failed: no goroutine is in it, or will be
}

// requester is the system's side. Only next blocks; one goroutine calls it. The other methods are called
// under one lock, except free.
type requester interface {
	// request starts p for its socket. p has ended once next has returned it; until then the system may
	// write to it.
	request(p *poll) error
	// cancel makes p end soon, if it has not.
	cancel(p *poll)
	// next returns a poll that has ended. It returns nil after stop, or if there is none and wait is false.
	next(wait bool) (*poll, error)
	// ended is called for each poll that next returned, before the poll is used again.
	ended(p *poll)
	// stop makes a next return nil.
	stop()
	// free gives back what the system holds. No poll is pending then, and no other method will be called.
	free()
}

// poll is one request.
type poll struct {
	fd    int
	token uint64
	sys   any //nolint:unused // the requester's own, on Windows
}

// spares is how many polls that have ended are kept for reuse.
const spares = 256

func newAFD(sys requester) *afd {
	return &afd{sys: sys, polls: map[int]*poll{}, pending: map[*poll]struct{}{}}
}

// arm leaves a poll that is under way as it is. Whether that ends for input that is there already or for
// input that comes, it wakes the handle that waits now.
func (a *afd) arm(fd int, token uint64, first bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.polls[fd]; p != nil {
		if !first {
			p.token = token
			return nil
		}
		a.drop(p) // the poll of a closed socket that had this number
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

// drop forgets p: its end wakes nobody. The caller of drop, take and keep must hold mu.
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
			defer a.mu.Unlock()
			if a.failed = true; a.closing {
				a.giveUpLocked()
			}
			return 0, err
		case n > 0:
			return n, nil
		}
	}
}

// collect waits for the end of a poll, and also takes the others that have ended by then.
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

// ended notes that p has ended. It returns p's token, and whether that is still waited for.
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

// close cancels all polls; wait returns when the last of them has ended. If wait has failed, nobody learns
// when they end, so their memory is kept for good: the system may still write to it.
func (a *afd) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closing = true
	clear(a.polls)
	for p := range a.pending {
		a.sys.cancel(p)
	}
	if a.failed {
		a.giveUpLocked()
	} else {
		a.sys.stop()
	}
}

// giveUpLocked is called when wait has failed and close was called.
func (a *afd) giveUpLocked() {
	if len(a.pending) == 0 {
		a.sys.free()
	} else {
		abandoned.Store(a, nil)
	}
}

// abandoned keeps the memory of polls whose end the system never reported.
var abandoned sync.Map
