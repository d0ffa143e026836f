// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// sentWatch is a stats handler that notes what it is told of as sent.
type sentWatch struct {
	mu   sync.Mutex
	told []string // guarded by mu
}

func (*sentWatch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*sentWatch) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*sentWatch) HandleConn(context.Context, stats.ConnStats)                       {}

func (w *sentWatch) HandleRPC(_ context.Context, s stats.RPCStats) {
	event := ""
	switch s.(type) {
	case *stats.OutHeader:
		event = "OutHeader"
	case *stats.OutPayload:
		event = "OutPayload"
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, event)
}

func (w *sentWatch) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.told
	w.told = nil
	return told
}

// TestReplyIsToldFirst: a server's stats handlers are told of a unary reply, its headers and its message, before the
// client can have it. Probe "waits in OutPayload of the server/unary" has the handler wait.
func TestReplyIsToldFirst(t *testing.T) {
	for name, header := range map[string]metadata.MD{"": nil, "metadata": metadata.Pairs("k", "v")} {
		e := newEcho()
		e.unary = func(ctx context.Context, m *text) (*text, error) {
			return m, SetHeader(ctx, header)
		}
		w := &sentWatch{}
		cc := newTestClient(t, serve(t, e, StatsHandler(w)).addr)
		wantCode(t, "call", call(testContext(t), cc, "x"), codes.OK)
		if got, want := w.take(), []string{"OutHeader", "OutPayload"}; !slices.Equal(got, want) {
			t.Errorf("%s: told %q, want %q", name, got, want)
		}
	}
}

// TestHeaderIsToldFirst: a server's stats handlers are told of a stream's headers before the client can have its first
// message.
func TestHeaderIsToldFirst(t *testing.T) {
	e := newEcho()
	e.stream = func(s ServerStream) error { return s.SendMsg(&text{Value: "the message"}) }
	w := &sentWatch{}
	s, err := newTestClient(t, serve(t, e, StatsHandler(w)).addr).NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "RecvMsg", s.RecvMsg(new(text)), codes.OK)
	if got := w.take(); len(got) == 0 || got[0] != "OutHeader" {
		t.Errorf("told %q", got)
	}
}

// TestUnsendableReplyIsNotTold: of a reply whose headers are more than the client takes, stats handlers are told neither
// headers nor message.
func TestUnsendableReplyIsNotTold(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		return m, SetHeader(ctx, metadata.Pairs("k", strings.Repeat("v", 2000)))
	}
	w := &sentWatch{}
	if err := call(testContext(t), newTestClient(t, serve(t, e, StatsHandler(w)).addr, WithMaxHeaderListSize(1000)), "x"); err == nil {
		t.Error("a reply came with headers over the limit")
	}
	if got := w.take(); len(got) > 0 {
		t.Errorf("told %q", got)
	}
}
