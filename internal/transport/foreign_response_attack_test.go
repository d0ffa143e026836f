// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/metadata"
)

// The same of responses, on clients.
func TestAttackResponseRacesWithHolders(t *testing.T) {
	if !park.Supported() || !envconfig.HTTPFramerReadBufferPooling {
		t.Skip("connections do not park")
	}
	const conns = 6
	s := startServer(t, "unix", ServerConfig{}, func(s *ServerStream) {
		_ = s.SendHeader(metadata.Pairs("a", "b"))
		idleHandler(s)
	})
	cfg := &ClientConfig{UserAgent: "test/1"}
	cfg.Prepare()
	var all [conns]*Client
	for i := range all {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		c, err := Connect(ctx, s.addr(), "example.test", ConnectParams{Config: cfg, Events: newNoted(), Watch: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(nil) })
		all[i] = c
	}
	open := func(c *Client) *ClientStream {
		st, err := c.NewStream(context.Background(), &Call{Method: "/a/b", MaxRecvMsgSize: 1}, nil, false)
		if err != nil {
			t.Error(err)
			return nil
		}
		_ = st.Header()
		return st
	}
	for round := range 40 {
		one := all[round%conns]
		st := open(one)
		waitFor(t, "all to park", func() bool { return park.ReadStats().Parked == 2*conns })
		var wg sync.WaitGroup
		for _, c := range all {
			if c == one {
				wg.Go(func() { st.Cancel(context.Canceled) })
				continue
			}
			wg.Go(func() { open(c).Cancel(context.Canceled) })
		}
		wg.Wait()
		waitFor(t, "all to park", func() bool { return park.ReadStats().Parked == 2*conns })
	}
}
