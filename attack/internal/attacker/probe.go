// SPDX-License-Identifier: Apache-2.0

package attacker

import (
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// probeTime is how long a probe waits for its answer, on a machine that does nothing else.
const probeTime = time.Second

// Probe asks on a connection that attacks for what it has a right to all the same: that
// PINGs are answered, and that new calls are, or are refused.
type Probe struct {
	c     *Conn
	mu    sync.Mutex
	calls map[uint32]chan struct{}
	pings chan struct{}
}

// Probe begins to read the connection.
func (c *Conn) Probe() *Probe {
	p := &Probe{c: c, calls: map[uint32]chan struct{}{}, pings: make(chan struct{}, 1)}
	c.Drain(p.see)
	return p
}

func (p *Probe) see(f wire.Frame) {
	switch {
	case f.Is(wire.Ping, wire.Ack):
		select {
		case p.pings <- struct{}{}:
		default:
		}
	case f.Is(wire.Headers, 0), f.Is(wire.RSTStream, 0):
		p.mu.Lock()
		defer p.mu.Unlock()
		if done := p.calls[f.Stream]; done != nil {
			delete(p.calls, f.Stream)
			close(done)
		}
	}
}

// Run probes ten times a second until the attack is over. There are two PINGs in all: a
// server may take more, between calls that it refuses, for a flood (gRFC A8).
func (p *Probe) Run() error {
	a := p.c.a
	for round := 0; a.Sleep(100 * time.Millisecond); round++ {
		began := time.Now()
		if round == 0 || round == 10 {
			if err := p.c.Frame(wire.Ping, 0, 0, make([]byte, 8)); err != nil {
				return err
			}
			if err := p.wait("PING", p.pings); err != nil {
				return err
			}
		}
		done := make(chan struct{})
		p.mu.Lock()
		p.calls[p.c.next] = done
		p.mu.Unlock()
		if _, err := p.c.Call(orders.Echo); err != nil {
			return err
		}
		if err := p.wait("call", done); err != nil {
			return err
		}
		a.Probed(time.Since(began), nil)
	}
	return nil
}

// wait sends what is to be sent and waits for the answer.
func (p *Probe) wait(what string, answer <-chan struct{}) error {
	began := time.Now()
	if err := p.c.Flush(); err != nil {
		return err
	}
	select {
	case <-answer:
	case <-p.c.a.ctx.Done():
	case <-time.After(time.Duration(p.c.a.Slowness * float64(probeTime))):
		p.c.a.Probed(time.Since(began), errors.New("no answer to a "+what+" on the connection that attacks"))
	}
	return nil
}
