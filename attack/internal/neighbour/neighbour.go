// SPDX-License-Identifier: Apache-2.0

// Package neighbour is others beside those who talk to each other: clients of the same servers, and servers
// of the same clients, that send frames as they come to mind, read or do not, and hang up as they like.
package neighbour

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Disturb opens connections to a server, one after the other, until ctx ends, and counts them.
func Disturb(ctx context.Context, network, addr string, count *atomic.Int64) {
	for ctx.Err() == nil {
		nc, err := net.Dial(network, addr)
		if err != nil {
			pause(ctx, 10*time.Millisecond)
			continue
		}
		count.Add(1)
		talk(ctx, nc, true)
		pause(ctx, rand.N(10*time.Millisecond))
	}
}

// Serve answers whoever connects, until ctx ends and all have hung up.
func Serve(ctx context.Context, lis net.Listener, count *atomic.Int64) {
	context.AfterFunc(ctx, func() { lis.Close() })
	var all sync.WaitGroup
	defer all.Wait()
	for {
		nc, err := lis.Accept()
		if err != nil {
			return
		}
		count.Add(1)
		all.Go(func() { talk(ctx, nc, false) })
	}
}

// talk sends a script, in parts of any size, and hangs up in one way or another.
func talk(ctx context.Context, nc net.Conn, client bool) {
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	_ = nc.SetDeadline(time.Now().Add(2 * time.Second))
	reads := rand.N(4) > 0
	if reads {
		go func() { _, _ = io.Copy(io.Discard, nc) }() // it ends with nc
	}
	for b := newScript(client); len(b) > 0; {
		n := len(b)
		if rand.N(2) == 0 {
			n = 1 + rand.N(n)
		}
		if _, err := nc.Write(b[:n]); err != nil {
			return
		}
		b = b[n:]
		if rand.N(4) == 0 {
			pause(ctx, rand.N(3*time.Millisecond))
		}
	}
	pause(ctx, rand.N(20*time.Millisecond))
	switch half, _ := nc.(interface{ CloseWrite() error }); {
	case rand.N(3) == 0 && half != nil:
		_ = half.CloseWrite() // what it is told then is all the same
		pause(ctx, rand.N(20*time.Millisecond))
	case rand.N(3) == 0:
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
