// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"sync"
	"testing"
)

// Where something comes now and then ciphers are kept, until nothing has come for a while.
func TestVigil(t *testing.T) {
	client, server := resting(t)
	defer func() {
		server.Close()
		if n := vigils.Len(); n != 0 {
			t.Errorf("%d vigils after the end", n)
		}
	}()
	var kept *vigil
	for range 2 {
		for range wakesBefore {
			wantIdle(t, server)
			wantRest(t, server, true, true)
			exchange(t, client, server, pattern(100))
		}
		for range 3 {
			wantIdle(t, server)
			exchange(t, server, client, pattern(100))
			wantRest(t, server, false, false)
			exchange(t, client, server, pattern(100))
		}
		if n := vigils.Len(); n != 1 {
			t.Fatalf("%d vigils", n)
		}
		wantIdle(t, server)
		kept = server.intake.vigil
		quiet(kept)
		wantRest(t, server, true, true)
		exchange(t, server, client, pattern(100))
		wantRest(t, server, true, true) // as ever
	}
	kept.Quiet() // too late
}

// Quiet says nothing of who is being read.
func TestVigilOfABusyConnection(t *testing.T) {
	client, server := resting(t)
	server.intake.wakes = wakesBefore
	wantIdle(t, server)
	e := server.intake.vigil
	server.rmu.Lock()
	quiet(e)
	server.rmu.Unlock()
	if n := vigils.Len(); n != 1 || server.intake.vigil != e {
		t.Errorf("%d vigils", n)
	}
	exchange(t, client, server, pattern(100))
	exchange(t, server, client, pattern(100))
	quiet(e) // after the sweep, before its next wait
	wantRest(t, server, false, false)
	wantIdle(t, server)
	wantRest(t, server, true, true)
}

// Quiet may come late, after the vigil has ended. It does not begin again because somebody reads.
func TestVigilEndedBefore(t *testing.T) {
	client, server := resting(t)
	server.intake.wakes = wakesBefore
	wantIdle(t, server)
	e := server.intake.vigil
	exchange(t, client, server, pattern(100))
	server.Close()
	server.rmu.Lock()
	e.Quiet()
	server.rmu.Unlock()
	if n := vigils.Len(); n != 0 {
		t.Errorf("%d vigils", n)
	}
}

// Everything at once.
func TestVigilBesideAll(t *testing.T) {
	client, server := resting(t)
	const n = 300
	var all sync.WaitGroup
	all.Go(func() {
		for range n {
			if err := send(client, pattern(100)); err != nil {
				t.Error(err)
			}
			if err := send(server, pattern(100)); err != nil {
				t.Error(err)
			}
		}
	})
	all.Go(func() {
		if _, err := receive(client, n*100); err != nil {
			t.Error(err)
		}
	})
	for got := 0; got < n*100; {
		k, err := server.TryReadInto(make([]byte, 1000))
		got += k
		if err != nil {
			server.ReleaseIdle()
			server.rmu.Lock()
			e := server.intake.vigil
			server.rmu.Unlock()
			if e != nil {
				all.Go(func() { quiet(e) })
			}
		}
	}
	all.Wait()
}

// quiet is the sweeper that has found e to be quiet.
func quiet(e *vigil) {
	vigils.Remove(&e.Entry)
	e.Quiet()
}
