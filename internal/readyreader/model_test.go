// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"fmt"
	"testing"
)

// What follows is the wake-up of a wrapper's connection as a model, of which every state
// that can be reached is looked at: bytes arrive, the wrapper takes them from the socket in
// pieces, keeps them, drops a header, and returns them; the reader reads, looks at the
// account, or does not while it is busy, and parks; the kernel wakes it; deadlines interrupt it. Between any two steps,
// any other may come.
//
// The rule is: who is parked, with no wake-up under way, has nothing to read.

// world is a state of everything.
type world struct {
	// The peer.
	toSend int8 // the header first

	// The kernel.
	socket   int8 // bytes that were not read
	received int8 // in all
	armed    bool // the poller is to be told of input
	event    bool // and is about to be

	// The wrapper.
	drop int8 // bytes of the header that it has not seen
	held int8

	// The reader.
	at       place
	returned int8
	taken    int8
	learned  bool
	kicked   bool
}

// place is where the reader stands.
type place int8

const (
	deciding place = iota // whether to wait on the socket, or in the wrapper
	waiting               // on the socket, for the account not to be even
	reading               // in the wrapper, which waits for the socket
	looking               // for the last time, before it parks
	parking               // the account was even; the kernel is not told yet
	parked
)

func (p place) String() string {
	return []string{"deciding", "waiting", "reading", "looking", "parking", "parked"}[p]
}

func (w world) even() bool { return w.received == w.returned+w.taken }

// steps are all states that may follow w.
func (w world) steps(taker bool) (all []world) {
	add := func(next world) { all = append(all, next) }
	if w.toSend > 0 { // a byte arrives
		n := w
		n.toSend, n.socket, n.received = n.toSend-1, n.socket+1, n.received+1
		n.event = n.event || n.armed
		add(n)
	}
	if !w.kicked && (!taker || w.returned > 0) { // the sweeper comes by
		n := w
		n.kicked = true
		add(n)
	}
	switch w.at {
	case deciding, waiting:
		n := w
		switch {
		case w.kicked:
			n.at, n.kicked = looking, false
		case w.even():
			n.at = waiting
		default:
			n.at = reading
		}
		if n != w {
			add(n)
		}
		if w.at == deciding && !taker { // it is not tested and busy, and doesn't look
			n := w
			n.at = reading
			add(n)
		}
	case reading:
		for k := int8(1); k <= w.socket && w.held == 0; k++ { // it takes some of the socket's
			n := w
			n.socket -= k
			d := min(k, n.drop)
			n.drop, n.held = n.drop-d, n.held+k-d
			add(n)
		}
		for k := int8(1); k <= w.held; k++ { // it returns some of what it holds
			n := w
			n.held, n.returned, n.at = n.held-k, n.returned+k, deciding
			add(n)
		}
		if taker && w.kicked && w.held == 0 && w.returned > 0 { // the deadline ends it
			n := w
			if n.socket == 0 {
				n.taken, n.learned = n.received-n.returned, true
			}
			n.kicked, n.at = false, looking
			add(n)
		}
	case looking: // TryRead
		n := w
		switch {
		case w.even():
			n.at = parking
		case taker && w.returned > 0 && !w.kicked:
			n.kicked, n.at = true, reading // the probe
		default:
			n.at = reading
		}
		add(n)
	case parking: // the kernel looks at the socket when it is armed
		n := w
		n.at, n.armed, n.event = parked, true, w.socket > 0
		add(n)
	case parked:
		if w.event || w.kicked {
			n := w
			n.at, n.armed, n.event, n.kicked = deciding, false, false, false
			add(n)
		}
	}
	return all
}

// lost says what is wrong with w, "" if nothing is.
func (w world) lost() string {
	switch {
	case w.at == parked && w.held > 0:
		return "parked, and the wrapper holds something"
	case w.at == parked && w.socket > 0 && !w.event:
		return "parked, and the socket has something"
	case w.at == waiting && w.held > 0 && w.even():
		return "waiting, and the wrapper holds something"
	case w.at == parking && w.held > 0:
		return "about to park, and the wrapper holds something"
	}
	return ""
}

func TestWakeUpModel(t *testing.T) {
	for _, test := range []struct {
		taker  bool
		header int8
	}{{false, 0}, {false, 2}, {true, 0}, {true, 1}, {true, 2}, {true, 3}} {
		t.Run(fmt.Sprintf("taker %t, header %d", test.taker, test.header), func(t *testing.T) {
			begin := world{toSend: test.header + 5, drop: test.header}
			from := map[world]world{begin: begin}
			ends, parks, busy := 0, false, false
			for queue := []world{begin}; len(queue) > 0; {
				w := queue[0]
				queue = queue[1:]
				if what := w.lost(); what != "" {
					for ; w != begin; w = from[w] {
						t.Logf("%+v", w)
					}
					t.Fatal(what)
				}
				parks = parks || w.at == parked && w.received > 0 && !w.event
				busy = busy || w.at == reading && w.even() && w.kicked
				next := w.steps(test.taker)
				for _, n := range next {
					if _, seen := from[n]; !seen {
						from[n] = w
						queue = append(queue, n)
					}
				}
				// Left alone with everything sent, the reader gets to the end of it.
				if w.toSend == 0 && len(next) == 0 || w.toSend == 0 && w.at == parked && !w.kicked && !w.event {
					ends++
					if w.socket > 0 || w.held > 0 || w.returned != 5 {
						t.Fatalf("at rest, and %+v", w)
					}
				}
			}
			t.Logf("%d states", len(from))
			if ends == 0 {
				t.Error("it never comes to rest")
			}
			if want := test.taker || test.header == 0; parks != want {
				t.Errorf("parks: %t", parks)
			}
			if want := !test.taker && test.header == 0; want && !busy {
				t.Error("it is never interrupted while it is waited for in its Read with nothing to read")
			}
		})
	}
}
