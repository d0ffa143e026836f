// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"io"
	"strconv"
	"strings"
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
		c := r.talk(t, &talkerCalls{OnMessage: func(_ *talker, m *response) { got <- text(m) }}, nil)
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

// seeing is a stream that an interceptor, or a handler, has put around another.
type seeing struct {
	grpc.ServerStream
	seen *atomic.Int32
}

func (s seeing) SendMsg(m any) error {
	s.seen.Add(1)
	return s.ServerStream.SendMsg(m)
}

// seeingGeneric is the same around what generated code hands out.
type seeingGeneric struct {
	*grpc.GenericServerStream[request, response]
	seen *atomic.Int32
}

func (s seeingGeneric) SendMsg(m any) error {
	s.seen.Add(1)
	return s.GenericServerStream.SendMsg(m)
}

// What is around a stream sees each message that a group sends, in whatever way it is around it.
func TestGroupIsSeen(t *testing.T) {
	const messages = 3
	for name, row := range map[string]struct {
		wrap func(grpc.ServerStream, *atomic.Int32) grpc.ServerStream
		want int32
	}{
		"plain":     {func(st grpc.ServerStream, _ *atomic.Int32) grpc.ServerStream { return st }, 0},
		"around it": {func(st grpc.ServerStream, n *atomic.Int32) grpc.ServerStream { return seeing{st, n} }, messages},
		"around generated": {func(st grpc.ServerStream, n *atomic.Int32) grpc.ServerStream {
			return seeingGeneric{st.(*grpc.GenericServerStream[request, response]), n}
		}, messages},
		"inside generated": {func(st grpc.ServerStream, n *atomic.Int32) grpc.ServerStream {
			st.(*grpc.GenericServerStream[request, response]).ServerStream = seeing{st.(*grpc.GenericServerStream[request, response]).ServerStream, n}
			return st
		}, messages},
	} {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Int32
			added := make(chan *watcher, 2)
			r := newRig(t, &service{down: func(_ *request, st downwards) error {
				w, err := streams.HandOver[streams.None, response](row.wrap(st, &seen), nil, nil)
				added <- w
				return err
			}})
			var group streams.Group[streams.None, response]
			var watches []downwardsClient
			for range 2 {
				st, err := r.client.StreamingOutputCall(r.ctx, &request{})
				if err != nil {
					t.Fatal(err)
				}
				watches = append(watches, st)
				group.Add(await(t, added, "a stream"))
			}
			for i := range messages {
				if n := group.Send(reply(strconv.Itoa(i))); n != 2 {
					t.Errorf("%d members took message %d", n, i)
				}
			}
			for _, st := range watches {
				for i := range messages {
					if m, err := st.Recv(); err != nil || text(m) != strconv.Itoa(i) {
						t.Fatalf("message %d: %q, %v", i, text(m), err)
					}
				}
			}
			if n := seen.Load(); n != 2*row.want {
				t.Errorf("%d messages were seen, want %d", n, 2*row.want)
			}
		})
	}
}

// A member that nobody reads has no room in the end, and the others do not mind. Once it is read
// all that it took arrives, in order, OnReady tells of room, and it is sent to again.
func TestGroupRoom(t *testing.T) {
	const size = 4 << 10
	ready := make(chan struct{}, 1000)
	h := newHub()
	h.calls = &streams.ServerCallbacks[streams.None, response]{OnReady: func(*watcher) { ready <- struct{}{} }}
	r := newRig(t, &service{down: h.watch})
	var group streams.Group[streams.None, response]
	open := func() downwardsClient {
		st, err := r.client.StreamingOutputCall(r.ctx, &request{})
		if err != nil {
			t.Fatal(err)
		}
		group.Add(await(t, h.added, "a stream"))
		return st
	}
	slow, quick := open(), open()
	message := func(i int) *response { return reply(strconv.Itoa(i) + strings.Repeat(" ", size)) }
	expect := func(st downwardsClient, i int) {
		t.Helper()
		if m, err := st.Recv(); err != nil || strings.TrimSpace(text(m)) != strconv.Itoa(i) {
			t.Fatalf("message %d: %.9q, %v", i, text(m), err)
		}
	}
	taken := 0
	for group.Send(message(taken)) == 2 {
		expect(quick, taken)
		taken++
	}
	expect(quick, taken)
	for i := range taken {
		expect(slow, i)
	}
	await(t, ready, "OnReady")
	if n := group.Send(message(-1)); n != 2 {
		t.Errorf("%d members took a message when there was room again", n)
	}
	expect(slow, -1)
	expect(quick, -1)
}

// intercepted is a stream with an interceptor's SendMsg.
type intercepted struct {
	grpc.ServerStream
	send func(grpc.ServerStream, any) error
}

func (s intercepted) SendMsg(m any) error { return s.send(s.ServerStream, m) }

// intercept makes members of a group, on one connection: one for each send, through which its messages go.
func intercept(t *testing.T, send ...func(grpc.ServerStream, any) error) (*streams.Group[streams.None, response], []*watcher, []downwardsClient) {
	h := newHub()
	opened := 0
	r := newRig(t, &service{down: h.watch}, grpc.StreamInterceptor(func(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		opened++ // one stream is opened after the other
		return next(srv, intercepted{st, send[opened-1]})
	}))
	group := new(streams.Group[streams.None, response])
	var watches []downwardsClient
	for range send {
		st, err := r.client.StreamingOutputCall(r.ctx, &request{})
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, st)
		group.Add(await(t, h.added, "a stream"))
	}
	return group, h.all, watches
}

// Where an interceptor has dropped a group's message, what the stream sends next does not wait for others.
func TestGroupMessageIsDropped(t *testing.T) {
	drop := func(grpc.ServerStream, any) error { return nil }
	for name, next := range map[string]func(*watcher) error{
		"Finish":     func(w *watcher) error { return w.Finish(nil) },
		"SendHeader": func(w *watcher) error { return w.SendHeader(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			group, members, watches := intercept(t, drop, drop)
			if n := group.Send(reply("dropped")); n != 2 {
				t.Errorf("%d members took the message", n)
			}
			if err := next(members[0]); err != nil {
				t.Fatal(err)
			}
			if _, err := watches[0].Header(); err != nil {
				t.Error(err)
			}
			if name == "Finish" {
				if _, err := watches[0].Recv(); err != io.EOF {
					t.Errorf("the client: %v", err)
				}
			}
		})
	}
}

// What an interceptor does not send at once does not wait for others when it is sent.
func TestGroupMessageIsSentLater(t *testing.T) {
	var later func() error
	keep := func(st grpc.ServerStream, m any) error {
		later = func() error { return st.SendMsg(m) }
		return nil
	}
	drop := func(grpc.ServerStream, any) error { return nil }
	group, _, watches := intercept(t, keep, drop)
	group.Send(reply("late"))
	if err := later(); err != nil {
		t.Fatal(err)
	}
	if m, err := watches[0].Recv(); err != nil || text(m) != "late" {
		t.Errorf("%q, %v", text(m), err)
	}
}

// If an interceptor panics while a group sends, the members before that one still get the message, and its stream
// does not keep back what it sends next.
func TestGroupPanics(t *testing.T) {
	pass := func(st grpc.ServerStream, m any) error { return st.SendMsg(m) }
	group, members, watches := intercept(t, pass, func(grpc.ServerStream, any) error { panic("of the test") }, pass)
	func() {
		defer func() {
			if v := recover(); v != "of the test" {
				t.Errorf("recovered %v", v)
			}
		}()
		group.Send(reply("x"))
	}()
	if m, err := watches[0].Recv(); err != nil || text(m) != "x" {
		t.Errorf("%q, %v", text(m), err)
	}
	if err := members[1].Finish(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := watches[1].Recv(); err != io.EOF {
		t.Errorf("the client: %v", err)
	}
}
