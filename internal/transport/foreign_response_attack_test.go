// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync"
	"testing"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/metadata"
)

// The same of responses, on clients.
func TestAttackResponseRacesWithHolders(t *testing.T) {
	needsParking(t)
	const conns = 6
	s := startServer(t, "unix", ServerConfig{}, func(s *ServerStream) {
		_ = s.SendHeader(metadata.Pairs("a", "b"))
		idleHandler(s)
	})
	all := s.dialMany(conns)
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
