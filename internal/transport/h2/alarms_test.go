// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/mem"
)

// Random alarms come when they are due, at most two steps later, and not before; what
// was dropped doesn't, and without alarms there is no timer.
func TestAlarms(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { alarmsModel(t, rand.New(rand.NewPCG(seed, 3))) })
	}
}

func alarmsModel(t *testing.T, rnd *rand.Rand) {
	var a alarms
	conns := make([]Conn, 150)
	due := make(map[*Conn]int64)
	for i := range conns {
		conns[i].mute = true // a tick has nothing to do
	}
	for range 1000 {
		c := &conns[rnd.IntN(len(conns))]
		switch rnd.IntN(6) {
		case 0:
			a.drop(c)
			delete(due, c)
		case 1:
			time.Sleep(time.Duration(rnd.Int64N(int64(5 * time.Second))))
			synctest.Wait()
		default:
			due[c] = clock() + rnd.Int64N(int64(3*time.Minute))
			a.set(c, due[c])
		}
		checkAlarms(t, &a, conns, due)
	}
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.heap) != 0 || a.timer != nil {
		t.Errorf("%d alarms are left, timer %v", len(a.heap), a.timer)
	}
}

func checkAlarms(t *testing.T, a *alarms, conns []Conn, due map[*Conn]int64) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	now := clock()
	for i := range conns {
		c := &conns[i]
		at, want := due[c]
		if c.alarm != 0 {
			if e := a.heap[c.alarm-1]; e.conn != c || e.at != at || !want {
				t.Fatalf("an alarm for %d at the place of one for %d (%v)", e.at, at, want)
			}
			if now-at > 2*alarmStep {
				t.Fatalf("an alarm is %v late", time.Duration(now-at))
			}
			continue
		}
		if want && at > now {
			t.Fatalf("an alarm came %v early", time.Duration(at-now))
		}
		delete(due, c)
	}
}

// Connections whose keepalive is hours away have no timer of their own, and leave
// nothing behind.
func TestKeepaliveFarOff(t *testing.T) {
	nc, ns := socketPair(t, "unix", 0)
	cfg := &Config{
		Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true,
		Keepalive: Keepalive{Interval: 2 * time.Hour, Timeout: 20 * time.Second, WithoutStreams: true},
	}
	server, client := newSpinRole(true), newSpinRole(false)
	s, c := New(ns, Server, cfg, server), New(nc, Client, cfg, client)
	s.Start()
	c.Start()
	until(t, "both to be listed", func() bool { return farOffAt(c) > 0 && farOffAt(s) > 0 })
	farOff.set(c, clock()-1)
	until(t, "another turn", func() bool { return farOffAt(c) > clock()+int64(time.Hour) })

	c.lastRead.Store(clock() - int64(3*time.Hour))
	farOff.set(c, clock()-1)
	until(t, "the answer to a PING", func() bool {
		return clock()-c.lastRead.Load() < int64(time.Hour)
	})
	c.mu.Lock()
	if c.listed || c.timer == nil {
		t.Error("the answer's timeout is among the alarms")
	}
	c.mu.Unlock()
	c.Close(nil)
	s.Close(nil)
	<-client.closed
	<-server.closed
	if farOffAt(c) > 0 || farOffAt(s) > 0 {
		t.Error("closed, and still listed")
	}
}

// farOffAt is when c's alarm is due, 0 without one.
func farOffAt(c *Conn) int64 {
	farOff.mu.Lock()
	defer farOff.mu.Unlock()
	if c.alarm == 0 {
		return 0
	}
	return farOff.heap[c.alarm-1].at
}
