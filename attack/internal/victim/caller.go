// SPDX-License-Identifier: Apache-2.0

package victim

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"google.golang.org/grpc/attack/internal/orders"
)

// caller makes calls at a steady rate, whether those before were answered or not, and
// remembers how long each took.
type caller struct {
	patience time.Duration

	mu    sync.Mutex
	round int // calls that began before the last reset are of an earlier one
	took  []time.Duration
	calls int
	lost  int
	first string // error
}

// start calls over cc, as o says, until the process ends. It returns when the first ten
// calls in a row went well.
func (c *caller) start(cc *grpc.ClientConn, o orders.Call) error {
	c.patience = o.Patience
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second+o.Patience)
	defer cancel()
	for range 10 {
		if err := cc.Invoke(ctx, orders.Echo, &message{Value: payload()}, &message{}, grpc.WaitForReady(true)); err != nil {
			return err
		}
	}
	go func() {
		for range time.Tick(time.Second / time.Duration(o.Rate)) {
			go c.call(cc)
		}
	}()
	return nil
}

func (c *caller) call(cc *grpc.ClientConn) {
	c.mu.Lock()
	round := c.round
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), c.patience)
	defer cancel()
	began := time.Now()
	in, out := payload(), &message{}
	err := cc.Invoke(ctx, orders.Echo, &message{Value: in}, out)
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.round != round {
		return
	}
	c.calls++
	c.took = append(c.took, took)
	switch {
	case err != nil:
		c.lose(err.Error())
	case !slices.Equal(in, out.GetValue()):
		c.lose("the answer was another")
	}
}

func (c *caller) lose(text string) {
	if c.lost++; c.lost == 1 {
		c.first = text
	}
}

func (c *caller) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round++
	c.took, c.calls, c.lost, c.first = nil, 0, 0, ""
}

func (c *caller) tally() orders.Tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := orders.Tally{Calls: c.calls, Failed: c.lost, Error: c.first}
	if n := len(c.took); n > 0 {
		slices.Sort(c.took)
		t.P99, t.Max = c.took[min(n*99/100, n-1)], c.took[n-1]
	}
	return t
}

func payload() []byte {
	b := make([]byte, 128)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}
