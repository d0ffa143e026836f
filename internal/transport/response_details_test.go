// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"google.golang.org/grpc/internal/transport/grpcwire"
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
	var e hpack.Encoder
	head := append(e.Begin(block(responseFields...)), block("grpc-status", "5")...)
	n := 0
	c := rawServerOf(t, nil, func(p *rawPeer, id uint32, _ []byte) {
		n++
		answer := e.AppendField(bytes.Clone(head), grpcwire.HeaderStatusDetails, details, hpack.Incremental)
		answer = append(answer, block("n", fmt.Sprint(n))...)
		p.write(fieldBlock(headersParams{StreamID: id, Block: answer}))
	})
	streams := []*ClientStream{openToHeaders(t, c)}
	before := heap()
	for range calls {
		streams = append(streams, openToHeaders(t, c))
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
