// SPDX-License-Identifier: Apache-2.0

package serializer

import (
	"slices"
	"sync"
	"testing"

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

func TestPanic(t *testing.T) {
	var (
		s   Serializer
		ran bool
	)
	func() {
		defer func() { _ = recover() }()
		s.Do(func() {
			s.Do(func() { panic("a callback") })
			s.Do(func() { ran = true })
		})
	}()
	s.Do(func() {})
	if !ran {
		t.Error("what came after the panic did not run")
	}
}
