// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// The turn is one goroutine's at a time, and every wake-up is followed by a look.
func TestTurn(t *testing.T) {
	const wakers, wakes = 8, 2000
	var (
		turn    Turn
		working atomic.Int32 // who acts at present
		news    atomic.Int32 // what was announced
		seen    int32        // guarded by the turn
		act     func()
		actors  sync.WaitGroup
	)
	look := func() {
		for {
			if working.Add(1) != 1 {
				t.Error("two at work")
			}
			seen = news.Load()
			working.Add(-1)
			if turn.Rest() {
				return
			}
		}
	}
	act = func() {
		actors.Add(1)
		go func() {
			defer actors.Done()
			look()
		}()
	}
	act() // the turn begins taken
	var all sync.WaitGroup
	for i := range wakers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for range wakes {
				news.Add(1)
				if turn.Wake() {
					if rng.IntN(2) == 0 {
						act()
					} else {
						look()
					}
				}
			}
		})
	}
	all.Wait()
	actors.Wait()
	if !turn.Wake() {
		t.Fatal("somebody kept the turn")
	}
	if seen != wakers*wakes {
		t.Errorf("the last look saw %d of %d", seen, wakers*wakes)
	}
	turn.End()
	if turn.Wake() {
		t.Error("a turn that was kept was given away")
	}
}

// The table of what Wake and Rest do in each state.
func TestTurnStates(t *testing.T) {
	var turn Turn
	steps := []struct {
		what string
		got  bool
		want bool
	}{
		{"rest at the beginning", turn.Rest(), true},
		{"wake when free", turn.Wake(), true},
		{"wake when taken", turn.Wake(), false},
		{"wake when noted", turn.Wake(), false},
		{"rest when noted", turn.Rest(), false},
		{"rest when taken", turn.Rest(), true},
	}
	for _, s := range steps {
		if s.got != s.want {
			t.Errorf("%s: %v", s.what, s.got)
		}
	}
}
