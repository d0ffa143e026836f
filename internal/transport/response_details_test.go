// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// Details of a status that come with headers, and so are none yet, take no more memory than
// they take on the wire: what they are decoded to would be fifty times as much.
func TestDetailsTakeLittle(t *testing.T) {
	const calls = 100
	wire, err := proto.Marshal(&spb.Status{Code: 5, Details: slicesOf(1000)})
	if err != nil {
		t.Fatal(err)
	}
	details := string(grpcwire.AppendBinary(nil, wire))
	s := &testServer{t: t}
	s.lis, _ = listen(t, "memory")
	served := make(chan struct{})
	go func() {
		defer close(served)
		nc, err := s.lis.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		p := &rawPeer{t: t, nc: nc, rd: bufio.NewReader(nc)}
		_, _ = p.rd.Discard(len(rawPreface))
		p.write(frame.AppendSettings(nil))
		var e hpack.Encoder
		head := append(e.Begin(block(responseFields...)), block("grpc-status", "5")...)
		for n := 0; ; {
			h, b, ok := p.read()
			switch {
			case !ok:
				return
			case h.Type == frame.Headers:
				n++
				answer := e.AppendField(bytes.Clone(head), grpcwire.HeaderStatusDetails, details, hpack.Incremental)
				answer = append(answer, block("n", fmt.Sprint(n))...)
				p.write(fieldBlock(headersParams{StreamID: h.StreamID, Block: answer}))
			case h.Type == frame.Ping && !h.Flags.Has(frame.FlagAck):
				p.write(frame.AppendPing(nil, true, [8]byte(b)))
			}
		}
	}()
	c, _ := s.dial(nil)
	t.Cleanup(func() { c.Close(nil); s.lis.Close(); <-served })
	var streams []*ClientStream
	open := func() {
		st, err := c.NewStream(context.Background(), &Call{Method: "/a/b", MaxRecvMsgSize: 1}, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, st)
		waitFor(t, "headers", st.GotHeaders)
	}
	open()
	before := heap()
	for range calls {
		open()
	}
	if got := heap() - before; got > 4*100*calls+600*calls+slack {
		t.Errorf("%d bytes of heap for %d calls, of which %d are charged", got, calls, c.Stats().Held)
	}
	for _, st := range streams {
		st.Cancel(context.Canceled)
	}
}

func slicesOf(n int) []*anypb.Any {
	all := make([]*anypb.Any, n)
	for i := range all {
		all[i] = new(anypb.Any)
	}
	return all
}
