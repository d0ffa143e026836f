// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/experimental/streams"
	"google.golang.org/grpc/mem"
)

// counting is a codec that counts what it encodes.
type counting struct {
	encoding.CodecV2
	encoded *atomic.Int32
}

func (c counting) Marshal(v any) (mem.BufferSlice, error) {
	c.encoded.Add(1)
	return c.CodecV2.Marshal(v)
}

// A group's messages reach all its members in order, over several connections, and are
// encoded once for those that send them compressed and once for the others.
func TestGroup(t *testing.T) {
	const conns, each, messages = 4, 40, 10
	var group streams.Group[streams.None, response]
	var encoded atomic.Int32
	h := newHub()
	h.calls = &streams.ServerCallbacks[streams.None, response]{OnDone: func(w *watcher, _ error) { group.Remove(w) }}
	r := newRig(t, &service{down: h.watch}, grpc.ForceServerCodecV2(counting{encoding.GetCodecV2(proto.Name), &encoded}))
	type got struct {
		who  *listener
		text string
	}
	arrived, over := make(chan got, conns*each*messages), make(chan error, conns*each)
	calls := &listenerCalls{
		OnMessage: func(c *listener, m *response) { arrived <- got{c, text(m)} },
		OnDone:    func(_ *listener, err error) { over <- err },
	}
	for range conns {
		cc, err := grpc.NewClient(r.cc.Target(), grpc.WithTransportCredentials(plain()))
		if err != nil {
			t.Fatal(err)
		}
		defer cc.Close()
		for i := range each {
			if _, err := streams.OpenServerStreaming(calls, nil, func(o grpc.CallOption) (grpc.ServerStreamingClient[response], error) {
				opts := []grpc.CallOption{o}
				if i%2 == 0 {
					opts = append(opts, grpc.UseCompressor(gzip.Name))
				}
				return clientOf(cc).StreamingOutputCall(r.ctx, &request{}, opts...)
			}); err != nil {
				t.Fatal(err)
			}
			group.Add(await(t, h.added, "a stream"))
		}
	}
	for i := range messages {
		if n := group.Send(reply(strconv.Itoa(i))); n != conns*each {
			t.Errorf("%d members took message %d", n, i)
		}
	}
	last := make(map[*listener]int)
	for range conns * each * messages {
		g := await(t, arrived, "a message")
		if g.text != strconv.Itoa(last[g.who]) {
			t.Fatalf("message %s, want %d", g.text, last[g.who])
		}
		last[g.who]++
	}
	if n := encoded.Load(); n != 2*messages {
		t.Errorf("%d messages were encoded, want %d", n, 2*messages)
	}
	for _, w := range h.all {
		_ = w.Finish(nil)
	}
	for range conns * each {
		if err := await(t, over, "OnDone"); err != nil {
			t.Error(err)
		}
	}
	for group.Len() > 0 {
		if err := r.ctx.Err(); err != nil {
			t.Fatalf("%d members stayed", group.Len())
		}
	}
}

// A client's shared message, over two streams.
func TestClientShares(t *testing.T) {
	done := make(chan error, 2)
	r := newRig(t, &service{duplex: handOver(echoing(done), nil)})
	got := make(chan string, 2)
	m := streams.Share(ask("shared"))
	for range 2 {
		c, err := streams.OpenBidi(&talkerCalls{OnMessage: func(_ *talker, m *response) { got <- text(m) }}, nil,
			func(o grpc.CallOption) (grpc.BidiStreamingClient[request, response], error) {
				return r.client.FullDuplexCall(r.ctx, o)
			})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SendShared(m); err != nil {
			t.Fatal(err)
		}
		_ = c.CloseSend()
	}
	for range 2 {
		if s := await(t, got, "an answer"); s != "shared" {
			t.Error(s)
		}
	}
	for range 2 {
		if err := await(t, done, "OnDone"); err != nil {
			t.Error(err)
		}
	}
}
