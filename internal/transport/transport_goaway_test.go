// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/status"
)

// TestGoAwayDebugData: what a server says in a GOAWAY is quoted once, and not at any length, however many RPCs
// are lost with the connection.
func TestGoAwayDebugData(t *testing.T) {
	const streams = 100
	c := rawServerOf(t, nil, func(p *rawPeer, id uint32, _ []byte) {
		if id < 2*streams-1 {
			return
		}
		p.write(frame.AppendGoAway(nil, math.MaxInt32, frame.EnhanceYourCalm, make([]byte, frame.MinMaxFrameSize)))
		p.nc.Close()
	})
	var all []*ClientStream
	for range streams {
		s, err := c.NewStream(context.Background(), &Call{Method: "/a/b", MaxRecvMsgSize: 1}, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	seen := make(map[*status.Status]bool)
	for _, s := range all {
		s.Recv()
		st := s.Status()
		seen[st] = true
		if st.Code() != codes.Unavailable || !strings.Contains(st.Message(), `debug data: "\x00`) || len(st.Message()) > 10_000 {
			t.Fatalf("%v, and %d bytes: %.200s", st.Code(), len(st.Message()), st.Message())
		}
	}
	if len(seen) != 1 {
		t.Errorf("%d statuses for %d streams", len(seen), streams)
	}
}
