// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// TestUse: users of one key share a value, which ends after the last release, whatever it is that ends it.
func TestUse(t *testing.T) {
	var s Values[string, int]
	made, ended := 0, 0
	use := func(key string) (int, func()) {
		t.Helper()
		v, release, err := s.Use(key, func() (int, func(), error) {
			made++
			return made, func() { ended++ }, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return v, release
	}
	a, releaseA := use("a")
	again, releaseAgain := use("a")
	b, releaseB := use("b")
	if a != 1 || again != 1 || b != 2 || s.Len() != 2 {
		t.Errorf("values %d, %d, %d; %d in use", a, again, b, s.Len())
	}
	releaseA()
	releaseA()
	if ended != 0 {
		t.Error("it ended while it was in use")
	}
	releaseAgain()
	releaseB()
	if ended != 2 || s.Len() != 0 {
		t.Errorf("%d have ended, %d are in use", ended, s.Len())
	}
	if a, release := use("a"); a != 3 {
		t.Errorf("value %d after the first one ended", a)
	} else {
		release()
	}
}

// TestSlowUse: while a value is made others can be. Those that want the same one wait for it, also if it can't be made;
// then the next one tries it again.
func TestSlowUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Values[string, *int]
		proceed, broken := make(chan error), errors.New("broken")
		made, ended, results := 0, 0, make(chan error)
		for _, want := range []error{broken, nil} {
			for range 3 {
				go func() {
					v, release, err := s.Use("slow", func() (*int, func(), error) {
						made++
						return new(int), func() { ended++ }, <-proceed
					})
					if (v == nil) != (err != nil) {
						t.Errorf("%v, %v", v, err)
					}
					if err == nil {
						release()
					}
					results <- err
				}()
			}
			synctest.Wait()
			_, release, err := s.Use("fast", func() (*int, func(), error) {
				_, release, err := s.Use("inner", func() (*int, func(), error) { return nil, func() {}, nil })
				return nil, release, err
			})
			if err != nil {
				t.Fatal(err)
			}
			release()
			proceed <- want
			for range 3 {
				if err := <-results; err != want {
					t.Errorf("%v, want %v", err, want)
				}
			}
		}
		if made != 2 || ended != 1 || s.Len() != 0 {
			t.Errorf("%d made, %d ended, %d in use", made, ended, s.Len())
		}
	})
}

// TestUseExits: a create that ends its goroutine fails the Use of those that wait for it.
func TestUseExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Values[string, int]
		proceed, failed := make(chan struct{}), make(chan error)
		go func() {
			_, _, _ = s.Use("a", func() (int, func(), error) {
				<-proceed
				runtime.Goexit()
				return 0, nil, nil
			})
		}()
		synctest.Wait()
		go func() {
			_, _, err := s.Use("a", nil)
			failed <- err
		}()
		synctest.Wait()
		close(proceed)
		if err := <-failed; err != errUnmade || s.Len() != 0 {
			t.Errorf("%v, %d in use", err, s.Len())
		}
	})
}
