// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
)

// peerWatch notes which peer the context of each event has.
type peerWatch struct {
	mu    sync.Mutex
	notes []string
	sent  metadata.MD // what OutHeader showed
}

func (w *peerWatch) note(ctx context.Context, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	where := "nobody"
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		where = p.Addr.String()
	}
	w.notes = append(w.notes, what+" "+where)
}

func (w *peerWatch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	w.note(ctx, "TagRPC")
	return ctx
}

func (w *peerWatch) HandleRPC(ctx context.Context, s stats.RPCStats) {
	w.note(ctx, strings.TrimPrefix(fmt.Sprintf("%T", s), "*stats."))
	if h, ok := s.(*stats.OutHeader); ok {
		w.sent = h.Header
	}
}

func (*peerWatch) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*peerWatch) HandleConn(context.Context, stats.ConnStats)                       {}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (w *peerWatch) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	w.note(ctx, "GetRequestMetadata")
	return map[string]string{"authorization": "secret", "token-bin": "secret"}, nil
}

func (*peerWatch) RequireTransportSecurity() bool { return false }

// TestClientEventsKnowTheServer: a stats handler and credentials find the server in their
// context from the time that it is picked, whatever peer the caller's own context has.
func TestClientEventsKnowTheServer(t *testing.T) {
	s := serve(t, newEcho())
	for name, do := range map[string]func(context.Context, *ClientConn) error{
		"unary":  func(ctx context.Context, cc *ClientConn) error { return call(ctx, cc, "x") },
		"stream": downCall,
	} {
		for _, own := range []*peer.Peer{nil, {}} {
			for _, config := range []string{`{}`, `{"methodConfig":[{"name":[{}],"hedgingPolicy":{"maxAttempts":2,"hedgingDelay":"60s"}}]}`} {
				t.Run(fmt.Sprintf("%s %v %s", name, own, config), func(t *testing.T) {
					w := &peerWatch{}
					cc := newTestClient(t, s.addr, WithStatsHandler(w), WithPerRPCCredentials(w), WithDefaultServiceConfig(config))
					ctx := testContext(t)
					if own != nil {
						ctx = peer.NewContext(ctx, own)
					}
					if err := do(ctx, cc); err != nil {
						t.Fatal(err)
					}
					w.want(t, s.addr)
				})
			}
		}
	}
}

// want wants nobody to be known before addr is picked, and then addr.
func (w *peerWatch) want(t *testing.T, addr string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	picked := false
	for _, n := range w.notes {
		what, who, _ := strings.Cut(n, " ")
		picked = picked || what == "GetRequestMetadata"
		if want := map[bool]string{false: "nobody", true: addr}[picked]; who != want {
			t.Errorf("%s: %s, want %s", what, who, want)
		}
	}
	if !picked || len(w.notes) < 7 {
		t.Errorf("only %v", w.notes)
	}
}

// TestOutHeaderHasNoCredentials: an observer is not shown what per-RPC credentials add, but
// what the program does, and the server gets both.
func TestOutHeaderHasNoCredentials(t *testing.T) {
	var received metadata.MD
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		received, _ = metadata.FromIncomingContext(ctx)
		return m, nil
	}
	s := serve(t, e)
	w := &peerWatch{}
	cc := newTestClient(t, s.addr, WithStatsHandler(w), WithPerRPCCredentials(w), WithTransportCredentials(insecure.NewCredentials()))
	ctx := metadata.AppendToOutgoingContext(testContext(t), "authorization", "the program's")
	if err := call(ctx, cc, "x", PerRPCCredentials(w)); err != nil {
		t.Fatal(err)
	}
	if got := w.sent["authorization"]; len(got) != 1 || got[0] != "the program's" || w.sent["token-bin"] != nil {
		t.Errorf("shown %q, %q", got, w.sent["token-bin"])
	}
	if len(received["authorization"]) != 3 || len(received["token-bin"]) != 2 {
		t.Errorf("received %q, %q", received["authorization"], received["token-bin"])
	}
}
