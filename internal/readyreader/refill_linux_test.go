// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// asFar has all sockets be on a path with a round trip of 20 ms. It counts how often that is asked, and
// closes often when that is maxSmall times.
func asFar(t *testing.T) (asked *atomic.Int32, often chan struct{}) {
	asked, often = new(atomic.Int32), make(chan struct{})
	before := farTripFor
	t.Cleanup(func() { farTripFor = before })
	farTripFor = func(uintptr) time.Duration {
		if asked.Add(1) == maxSmall {
			close(often)
		}
		return 20 * time.Millisecond
	}
	return asked, often
}

// On a far path a write returns from a full socket, and tries again: nothing is lost or doubled, whether
// it is one piece or many.
func TestRefill(t *testing.T) {
	want := make([]byte, 24<<20)
	for i := range want {
		want[i] = byte(rand.Int())
	}
	writes := map[string]func(*rawSocket) (int, error){
		"one piece": func(s *rawSocket) (int, error) { return s.Write(want) },
		"many": func(s *rawSocket) (int, error) {
			var pieces [][]byte
			for rest := want; len(rest) > 0; {
				n := min(rand.IntN(200_000), len(rest))
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			return s.WriteVector(pieces)
		},
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			asked, _ := asFar(t)
			a, b := connPair(t, "tcp")
			got := make(chan []byte)
			go func() {
				p, _ := io.ReadAll(b)
				got <- p
			}()
			if n, err := write(newRawSocket(a)); n != len(want) || err != nil {
				t.Errorf("wrote %d: %v", n, err)
			}
			a.Close()
			if !bytes.Equal(<-got, want) {
				t.Error("something else arrived")
			}
			if asked.Load() == 0 {
				t.Error("the socket was never full")
			}
		})
	}
}

// Who reads nothing is asked a few times, then the kernel waits; closing ends that, as ever.
func TestRefillOfStalledPeer(t *testing.T) {
	asked, often := asFar(t)
	a, _ := connPair(t, "tcp")
	s := newRawSocket(a)
	ended := make(chan error)
	go func() {
		_, err := s.WriteVector([][]byte{make([]byte, 32<<20)})
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("it ended with %v", err)
	case <-often:
	}
	a.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("it ended with %v", err)
	}
	if n := asked.Load(); n > 4*maxSmall {
		t.Errorf("tried %d times", n)
	}
}

// A path over loopback is not far, nor is what is not TCP.
func TestFarTripOf(t *testing.T) {
	a, _ := connPair(t, "tcp")
	rc := rawConnOf(a)
	if err := rc.Control(func(fd uintptr) {
		if trip := farTripOf(fd); trip != 0 {
			t.Errorf("%v over loopback", trip)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if trip := farTripOf(^uintptr(0)); trip != 0 {
		t.Errorf("%v of no socket", trip)
	}
}

// Of a peer that reads little at a time the kernel tells, too, after a few tries in vain.
func TestRefillOfSlowPeer(t *testing.T) {
	asked, often := asFar(t)
	a, b := connPair(t, "tcp")
	s := newRawSocket(a)
	ended := make(chan error)
	go func() {
		_, err := s.Write(make([]byte, 8<<20))
		ended <- err
	}()
	<-often
	var got int
	p := make([]byte, 4<<10)
	for got < 8<<20 {
		n, err := b.Read(p)
		if got += n; err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// Each time that the kernel has told of room there are maxSmall tries more, at most.
	if n := asked.Load(); n > 40*(maxSmall+1) {
		t.Errorf("tried %d times", n)
	}
}
