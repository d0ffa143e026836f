// SPDX-License-Identifier: Apache-2.0

package serializer

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestOrderAndReentry(t *testing.T) {
	var (
		s   Serializer
		got []int
	)
	s.Do(func() {
		s.Do(func() { got = append(got, 2) })
		s.Go(func() { got = append(got, 3) })
		got = append(got, 1)
	})
	if !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("order %v", got)
	}
}

func TestGoLeavesTheCaller(t *testing.T) {
	var (
		s  Serializer
		mu sync.Mutex
		wg sync.WaitGroup
	)
	wg.Add(1)
	mu.Lock()
	s.Go(func() {
		mu.Lock() // the caller holds it
		defer mu.Unlock()
		wg.Done()
	})
	mu.Unlock()
	wg.Wait()
}

func TestClose(t *testing.T) {
	var (
		s     Serializer
		inner bool
	)
	s.Do(func() {
		s.Do(func() { inner = true })
		s.Close()
	})
	if !inner {
		t.Error("what was queued before Close did not run")
	}
	if s.Do(func() { t.Error("ran after Close") }) || s.Go(func() { t.Error("ran after Close") }) {
		t.Error("taken after Close")
	}
}

func TestOneAtATime(t *testing.T) {
	var (
		s     Serializer
		wg    sync.WaitGroup
		count int // the race detector watches it
	)
	const callers, each = 8, 200
	for i := range callers {
		wg.Go(func() {
			for range each {
				if i%2 == 0 {
					s.Do(func() { count++ })
				} else {
					s.Go(func() { count++ })
				}
			}
		})
	}
	wg.Wait()
	done := make(chan int)
	go s.Do(func() { done <- count })
	if got := <-done; got != callers*each {
		t.Errorf("%d callbacks ran, want %d", got, callers*each)
	}
}

// TestCallbackDoesNotReturn: a callback that panics or ends its goroutine, wherever it stands in the
// queue, keeps no other from running, and what was queued behind it needs no later call.
func TestCallbackDoesNotReturn(t *testing.T) {
	for name, end := range map[string]func(){
		"panic":  func() { panic("a callback") },
		"Goexit": runtime.Goexit,
	} {
		for behind := range 3 {
			t.Run(fmt.Sprintf("%s, %d behind", name, behind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var s Serializer
					ran := make(chan int, behind)
					over := make(chan struct{})
					go func() {
						defer close(over)
						defer func() { _ = recover() }()
						s.Do(func() {
							s.Do(end)
							for i := range behind {
								s.Do(func() { ran <- i })
							}
						})
					}()
					<-over
					synctest.Wait()
					for want := range behind {
						select {
						case got := <-ran:
							if got != want {
								t.Errorf("callback %d ran, want %d", got, want)
							}
						default:
							t.Errorf("callback %d did not run", want)
						}
					}
					later := false
					s.Do(func() { later = true })
					if !later {
						t.Error("a later callback does not run")
					}
				})
			})
		}
	}
}

// TestCallbackQueuedByPanic: what the callback itself adds before it panics, so that it is not of
// the same batch, runs.
func TestCallbackQueuedByPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Serializer
		ran := make(chan struct{}, 1)
		func() {
			defer func() { _ = recover() }()
			s.Do(func() {
				s.Go(func() { ran <- struct{}{} })
				panic("a callback")
			})
		}()
		<-ran // synctest fails the test if nothing can send
	})
}
