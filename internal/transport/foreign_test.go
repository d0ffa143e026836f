// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// What is kept to be quoted of an answer that is not gRPC's is charged, once, at what it takes.
func TestForeignBodyIsCharged(t *testing.T) {
	const calls = 20
	answer := block(":status", "502", "content-type", "text/html")
	c := rawServerOf(t, nil, func(p *rawPeer, id uint32, _ []byte) {
		p.write(fieldBlock(headersParams{StreamID: id, Block: answer}))
		for _, body := range []string{"", "<", "", "html>"} {
			p.write(append(frame.AppendHeader(nil, frame.Header{Length: uint32(len(body)), Type: frame.Data, StreamID: id}), body...))
		}
	})
	waitFor(t, "the handshake's end", func() bool { return c.conn.Stats().Queued == 0 }) // what answers SETTINGS is charged until it is written
	var streams []*ClientStream
	for range calls {
		st, err := c.NewStream(context.Background(), &Call{Method: "/a/b", MaxRecvMsgSize: 1}, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, st)
	}
	waitFor(t, "the account", func() bool { return c.conn.Stats().Held >= calls*maxQuoted })
	if got := c.conn.Stats().Held; got > calls*(maxQuoted+1<<10) {
		t.Errorf("%d bytes are charged for %d calls", got, calls)
	}
	for _, st := range streams {
		st.Cancel(context.Canceled)
	}
	waitFor(t, "all to be refunded", func() bool { return c.conn.Stats().Held < maxQuoted+2<<10 }) // memos
}

// TestForeignRefusedAfterHeaders: whoever has answered has processed the call, whatever it says later.
func TestForeignRefusedAfterHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := headers(false, []string{":status", "403", "content-type", "text/html"})
		c := rawServer(t, append(answer, frame.AppendRSTStream(nil, 1, frame.RefusedStream)...))
		st, err := c.NewStream(t.Context(), &Call{Method: "/test.Echo/Any"}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		st.AwaitEnd()
		if st.Unprocessed() || st.Status().Code() != codes.PermissionDenied {
			t.Errorf("unprocessed %v, %v", st.Unprocessed(), st.Status())
		}
	})
}
