// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
)

// TestAgeBeforeStart: a connection that is closed before it begins, or just then, has no timers. The race
// detector sees whether the two may come together.
func TestAgeBeforeStart(t *testing.T) {
	for name, end := range map[string]func(*Server){
		"before":   func(c *Server) { c.Close(nil); c.Start() },
		"together": func(c *Server) { both(func() { c.Close(nil) }, c.Start) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := ServerConfig{Keepalive: keepalive.ServerParameters{MaxConnectionAge: time.Hour, MaxConnectionIdle: time.Hour}}
				cfg.Prepare()
				nc, far := net.Pipe()
				defer far.Close()
				c := NewServer(t.Context(), nc, new(peer.Peer), &ServerHost{ServerConfig: &cfg, Handler: &testServer{closed: make(chan error, 1)}})
				end(c)
				synctest.Wait()
				age := c.special.age
				for name, timer := range map[string]*time.Timer{"age": age.age, "idle": age.idle} {
					if timer != nil && timer.Stop() {
						t.Errorf("a timer of a closed connection runs: %s", name)
					}
				}
			})
		})
	}
}

// both runs f and g, each on a goroutine of its own, and waits for them.
func both(f, g func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Go(g)
	wg.Wait()
}

// TestNegativeAge: a limit below 0 is none, and no peer ends the process by it.
func TestNegativeAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := ServerConfig{Keepalive: keepalive.ServerParameters{MaxConnectionAge: -time.Second, MaxConnectionIdle: -time.Hour}}
		cfg.Prepare()
		nc, far := net.Pipe()
		c := NewServer(t.Context(), nc, new(peer.Peer), &ServerHost{ServerConfig: &cfg, Handler: &testServer{closed: make(chan error, 1)}})
		far.Close()
		c.Start()
		synctest.Wait()
		if age := c.special.age; age != nil && (age.age != nil || age.idle != nil) {
			t.Error("there are timers")
		}
		c.Close(nil)
	})
}
