// SPDX-License-Identifier: Apache-2.0

package acceptor

import (
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// scripted is a listener that says one thing after the other.
type scripted struct {
	net.Listener
	next []error // nil: a connection
}

func (s *scripted) Accept() (net.Conn, error) {
	err := s.next[0]
	s.next = s.next[1:]
	return nil, err
}

type passing struct{ error }

func (passing) Temporary() bool { return true }

func TestRun(t *testing.T) {
	full, broken := passing{errors.New("full")}, errors.New("broken")
	for _, tt := range []struct {
		what  string
		says  []error
		over  bool
		taken int
		pause []time.Duration
		want  error
	}{
		{what: "it is over", says: []error{nil, nil, broken}, over: true, taken: 2},
		{what: "it fails", says: []error{nil, broken}, taken: 1, want: broken},
		{
			what: "pauses grow, and begin anew", says: []error{full, full, full, nil, full, broken}, taken: 1, want: broken,
			pause: []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 5 * time.Millisecond},
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var pauses []time.Duration
				taken, began := 0, time.Now()
				a := Acceptor{
					Take:    func(net.Conn) { taken++ },
					Over:    func() bool { return tt.over },
					Done:    make(chan struct{}),
					Pausing: func(_ error, d time.Duration) { pauses = append(pauses, d) },
				}
				if err := a.Run(&scripted{next: tt.says}); err != tt.want {
					t.Errorf("%v, want %v", err, tt.want)
				}
				if taken != tt.taken || !slices.Equal(pauses, tt.pause) {
					t.Errorf("took %d, paused %v", taken, pauses)
				}
				var all time.Duration
				for _, d := range tt.pause {
					all += d
				}
				if waited := time.Since(began); waited != all {
					t.Errorf("waited %v, want %v", waited, all)
				}
			})
		})
	}
}

func TestLongestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		says := slices.Repeat([]error{passing{errors.New("full")}}, 12)
		var last time.Duration
		a := Acceptor{Over: func() bool { return false }, Done: make(chan struct{}), Pausing: func(_ error, d time.Duration) { last = d }}
		if err := a.Run(&scripted{next: append(says, errors.New("broken"))}); err == nil || last != maxDelay {
			t.Errorf("%v, last paused %v", err, last)
		}
	})
}

func TestDoneEndsPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, done, over := time.Now(), make(chan struct{}), false
		a := Acceptor{Over: func() bool { return over }, Done: done, Pausing: func(error, time.Duration) {
			over = true
			close(done)
		}}
		if err := a.Run(&scripted{next: []error{passing{errors.New("full")}, errors.New("closed")}}); err != nil || time.Since(began) > 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
