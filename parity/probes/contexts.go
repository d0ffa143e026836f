// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// Keys of the values that a caller, and the tags of connections and RPCs, put into contexts.
type (
	callerKey struct{}
	connKey   struct{}
	rpcKey    struct{}
)

// keys tells what a context has under the keys that programs know. What a server's context knows in
// its callbacks, and what a picker has added, differ, which variants that tell all are for.
func keys(ctx context.Context, early, all bool) string {
	var list []string
	has := func(what string, is bool) {
		if is {
			list = append(list, what)
		}
	}
	if p, ok := peer.FromContext(ctx); ok {
		auth := "none"
		if p.AuthInfo != nil {
			auth = p.AuthInfo.AuthType()
		}
		has(fmt.Sprintf("peer(addr=%v local=%v auth=%s)", p.Addr != nil, p.LocalAddr != nil, auth), true)
	}
	in, ok := metadata.FromIncomingContext(ctx)
	has(fmt.Sprintf("in%v", rig.MD(in)), ok)
	out, ok := metadata.FromOutgoingContext(ctx)
	if !all {
		delete(out, "picked") // it is a copy
	}
	has(fmt.Sprintf("out%v", rig.MD(out)), ok)
	method, ok := grpc.Method(ctx)
	has("method="+method, ok && (all || !early))
	has("serverstream", grpc.ServerTransportStreamFromContext(ctx) != nil && (all || !early))
	if info, ok := credentials.RequestInfoFromContext(ctx); ok {
		has(fmt.Sprintf("request(%s %T)", info.Method, info.AuthInfo), true)
	}
	has("handshake", credentials.ClientHandshakeInfoFromContext(ctx).Attributes != nil)
	_, ok = ctx.Deadline()
	has("deadline", ok)
	has(fmt.Sprintf("ended=%v", ctx.Err()), ctx.Err() != nil)
	has(fmt.Sprintf("tags=%q", stats.Tags(ctx)), stats.Tags(ctx) != nil)
	has(fmt.Sprintf("trace=%q", stats.Trace(ctx)), stats.Trace(ctx) != nil)
	for _, key := range []any{callerKey{}, connKey{}, rpcKey{}} {
		has(fmt.Sprintf("%T=%v", key, ctx.Value(key)), ctx.Value(key) != nil)
	}
	names, err := grpc.ClientSupportedCompressors(ctx)
	has(fmt.Sprintf("compressors=%v", names), err == nil && (all || !early))
	return strings.Join(list, " ")
}

// contextLog keeps what each callback has found, without what it had found before: how often they
// are called, and in which order, is for other probes.
type contextLog struct {
	all, carried bool // immutable
	mu           sync.Mutex
	lines        map[string][]string
}

func (l *contextLog) note(ctx context.Context, name string) {
	line := keys(ctx, name == "tap" || strings.HasPrefix(name, "server "), l.all)
	if l.carried && name == "server End" { // whether package http has ended the request's by then is chance
		line = strings.Replace(line, " ended="+context.Canceled.Error(), "", 1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = make(map[string][]string)
	}
	if !slices.Contains(l.lines[name], line) {
		l.lines[name] = append(l.lines[name], line)
	}
}

func (l *contextLog) print(p *probe.P, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines[name]) == 0 {
		p.Printf("(not called)")
	}
	for _, line := range l.lines[name] {
		p.Printf("%s", line)
	}
}

// allCallbacks are those that have a context.
var allCallbacks = []string{
	"unary interceptor of the client", "stream interceptor of the client", "client TagConn", "client ConnBegin", "client ConnEnd",
	"dialer", "ClientHandshake", "client TagRPC", "client Begin", "Pick", "GetRequestMetadata of the channel",
	"GetRequestMetadata of the call", "client OutHeader", "client OutPayload", "client InHeader", "client InPayload", "client InTrailer", "client End",
	"Context of the stream", "server TagConn", "server ConnBegin", "tap", "server TagRPC", "server InHeader", "server Begin", "server InPayload",
	"interceptor of the server", "handler", "handler of unknown methods", "server OutHeader", "server OutPayload", "server OutTrailer", "server End", "server ConnEnd",
}

// contextVariant is an RPC whose callbacks look at their contexts.
type contextVariant struct {
	name     string
	stream   bool
	peered   bool // the caller's context has a peer
	secure   bool // by TLS
	deadline bool
	code     codes.Code // of the handler
	refusals int        // by the handler, before it answers
	unknown  bool       // nobody has the method
	carried  bool       // by net/http
	more     []grpc.CallOption
	all      bool // that is found, also what differs
}

var contextVariants = []contextVariant{
	{name: "unary"},
	{name: "unary, all", all: true},
	{name: "stream", stream: true},
	{name: "unary, peer of the caller", peered: true},
	{name: "stream, peer of the caller", stream: true, peered: true},
	{name: "unary over TLS", secure: true},
	{name: "stream over TLS, peer of the caller", secure: true, stream: true, peered: true},
	{name: "unary over TLS, an authority of the call", secure: true, more: []grpc.CallOption{grpc.CallAuthority("probe.example")}},
	{name: "unary, deadline", deadline: true},
	{name: "stream, deadline", stream: true, deadline: true},
	{name: "unary that fails", code: codes.Aborted},
	{name: "stream that fails", stream: true, code: codes.Aborted},
	{name: "unary that is sent again", refusals: 1},
	{name: "stream that is sent again", refusals: 1, stream: true},
	{name: "unary of an unknown method", unknown: true},
	{name: "unary behind net/http", carried: true},
	{name: "stream behind net/http, TLS", carried: true, secure: true, stream: true},
}

// contextProbes are one for each callback and RPC.
func contextProbes() []probe.Probe {
	var out []probe.Probe
	for _, v := range contextVariants {
		for _, callback := range allCallbacks {
			out = append(out, probe.Probe{Name: "context in " + callback + "/" + v.name, Run: func(p *probe.P) {
				l := &contextLog{all: v.all, carried: v.carried}
				v.run(p, l)
				l.print(p, callback)
			}})
		}
	}
	return out
}

// run makes the RPC, and ends both sides.
func (v contextVariant) run(p *probe.P, l *contextLog) {
	ctx := p.Context()
	if v.deadline {
		limited, cancel := context.WithTimeout(context.Background(), probe.Limit)
		defer cancel()
		ctx = limited
	} else {
		unlimited, cancel := context.WithCancel(context.Background())
		defer context.AfterFunc(ctx, cancel)()
		defer cancel()
		ctx = unlimited
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "k", "v", "k-bin", "\x01")
	ctx = context.WithValue(stats.SetTags(ctx, []byte("t")), callerKey{}, "caller")
	if v.peered {
		ctx = peer.NewContext(ctx, &peer.Peer{})
	}
	s := v.pair(p, l)
	opts := append([]grpc.CallOption{grpc.PerRPCCredentials(contextCreds{name: "call", l: l}), grpc.WaitForReady(true), grpc.UseCompressor(gzip.Name)}, v.more...)
	method := rig.Unary
	if v.unknown {
		method = "/no.Such/Method"
	}
	if v.stream {
		contextStream(ctx, p, s, l, opts)
	} else {
		m := new(rig.Msg)
		p.Printf("%s %q", rig.Err(s.Invoke(ctx, method, rig.M("x"), m, opts...)), m.GetValue())
	}
	probe.Settle(0) // the server has ended the RPC then, too
	_ = s.Close()
	s.Server.GracefulStop()
	probe.Settle(0) // ConnEnd may come later
}

func contextStream(ctx context.Context, p *probe.P, s *rig.Started, l *contextLog, opts []grpc.CallOption) {
	stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi, opts...)
	if err != nil {
		p.Printf("%s", rig.Err(err))
		return
	}
	l.note(stream.Context(), "Context of the stream")
	_ = stream.SendMsg(rig.M("x"))
	_ = stream.CloseSend()
	m := new(rig.Msg)
	for err == nil {
		err = stream.RecvMsg(m)
	}
	p.Printf("%s %q", rig.Err(err), m.GetValue())
}

// answer says how the handler answers an RPC.
func (v contextVariant) answer(refusals *refusals) error {
	if refusals.take() {
		return status.Error(codes.Unavailable, "again")
	}
	return status.Error(v.code, "as told") // nil if it is OK
}

// refusals counts RPCs that are refused.
type refusals struct {
	mu   sync.Mutex
	left int
}

func (r *refusals) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left--
	return r.left >= 0
}
