// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"errors"
	"testing"
	"testing/synctest"
)

// TestQueueAccept: what the server returns waits while there is too much of it, but not while
// somebody waits for the server. Then more and more of it is an error.
func TestQueueAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		big := item{body: make([]byte, maxReturned)}
		if err := q.accept(big); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		accept := func() { go func() { done <- q.accept(big) }() }
		accept()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("does not wait for room")
		}
		q.get()
		if err := <-done; err != nil {
			t.Error(err)
		}
		accept()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("does not wait for room")
		}
		q.waits(1)
		if err := <-done; err != nil {
			t.Error(err)
		}
		for q.bytes < maxHeld {
			if err := q.accept(big); err != nil {
				t.Fatal(q.bytes, err)
			}
		}
		if err := q.accept(big); !errors.Is(err, errTooMuch) {
			t.Error(err)
		}
		q.waits(-1)
		accept()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("does not wait for room")
		}
		q.close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestQueueRoom: who waits for room gets it when there is some, or when the queue is closed.
func TestQueueRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		q.room()
		for _, free := range []func(){func() { q.get() }, q.close} {
			q.put(item{body: make([]byte, maxQueued)})
			done := make(chan struct{})
			go func() {
				defer close(done)
				q.room()
			}()
			synctest.Wait()
			select {
			case <-done:
				t.Error("does not wait for room")
			default:
			}
			free()
			<-done
		}
	})
}
