// SPDX-License-Identifier: Apache-2.0

// Package nettrace records RPCs for golang.org/x/net/trace, whose page /debug/requests shows
// them. A client's RPCs are in the family "grpc.Sent." followed by the service's name, and a
// server's are in "grpc.Recv." followed by that name.
//
// The package imports html/template and text/template, which keep the linker from leaving out
// methods that nobody calls. Therefore only packages that exist for these traces import it.
package nettrace

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/trace"

	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/stats"
)

// Register records the RPCs of all channels and servers that are made from now on. It does not
// record an RPC for which enabled returns false when it begins.
func Register(enabled func() bool) {
	telemetry.AddHandlers(&handler{enabled: enabled, family: "Sent", towards: "to"}, &handler{enabled: enabled, family: "Recv", towards: "from"})
}

// handler records the RPCs of one side.
type handler struct {
	enabled         func() bool
	family, towards string
	services        families
}

// longestTitle bounds the title of a trace, in bytes. Longer method names are cut.
const longestTitle = 1 << 10

func title(method string) string {
	if len(method) <= longestTitle {
		return method
	}
	return strings.Clone(method[:longestTitle])
}

// record is an RPC, or an attempt of one, that is being recorded. It is in the RPC's context.
type record struct {
	handler *handler

	mu    sync.Mutex
	trace trace.Trace // nil once it is finished: by then it may be another RPC's
}

// add changes the trace with f, unless it is finished.
func (r *record) add(f func(trace.Trace)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trace != nil {
		f(r.trace)
	}
}

// finish changes the trace with f and finishes it. Only the first call does so.
func (r *record) finish(f func(trace.Trace)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trace != nil {
		f(r.trace)
		r.trace.Finish()
		r.trace = nil
	}
}

// recordKey is the context key of a record. It contains the side's handler, because a server
// may make calls with the context of the RPC that it serves.
type recordKey struct{ of *handler }

// TagRPC begins a trace. A server's handlers can get it with trace.FromContext.
func (h *handler) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if !h.enabled() {
		return ctx
	}
	method := info.FullMethodName
	tr := trace.New("grpc."+h.family+"."+h.services.of(method), title(method))
	ctx = trace.NewContext(ctx, tr)
	return context.WithValue(ctx, recordKey{h}, &record{handler: h, trace: tr})
}

func (h *handler) HandleRPC(ctx context.Context, s stats.RPCStats) {
	r, _ := ctx.Value(recordKey{h}).(*record)
	if r == nil {
		return
	}
	switch s := s.(type) {
	case *stats.OutHeader:
		if s.Client {
			r.introduce(ctx, s.RemoteAddr)
		}
	case *stats.InHeader:
		if !s.Client {
			r.introduce(ctx, s.RemoteAddr)
		}
	case *stats.OutPayload:
		r.add(func(tr trace.Trace) { tr.LazyLog(message{"sent", s.Payload}, true) })
	case *stats.InPayload:
		r.add(func(tr trace.Trace) { tr.LazyLog(message{"recv", s.Payload}, true) })
	case *stats.End:
		r.finish(func(tr trace.Trace) {
			if s.Error == nil {
				return
			}
			// What a handler says may be of the same kind as a message.
			tr.LazyLog(failure{clip(fmt.Sprint(s.Error))}, !s.Client)
			tr.SetError()
		})
	}
}

// RPCOver implements telemetry.Overseer: an RPC without Begin has no End.
func (h *handler) RPCOver(ctx context.Context) {
	if r, _ := ctx.Value(recordKey{h}).(*record); r != nil {
		r.finish(func(trace.Trace) {})
	}
}

// introduce adds the first line to the trace.
func (r *record) introduce(ctx context.Context, peer net.Addr) {
	left := "none"
	if d, ok := ctx.Deadline(); ok {
		left = time.Until(d).String()
	}
	r.add(func(tr trace.Trace) { tr.LazyPrintf("RPC: %s %v deadline:%s", r.handler.towards, peer, left) })
}

// failure is a line about the end of an RPC.
type failure struct{ text string }

// longestFailure is how many bytes of an error are kept: a server may send a long one.
const longestFailure = 1 << 10

func clip(text string) string { return strings.Clone(text[:min(len(text), longestFailure)]) }

func (f failure) String() string { return "RPC: [" + f.text + "]" }

func (*handler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (*handler) HandleConn(context.Context, stats.ConnStats) {}

// message is a line about a message. It is formatted only when the page is read.
type message struct {
	direction string
	payload   any
}

// longest is how many bytes of a message are shown.
const longest = 100

func (m message) String() string {
	text := fmt.Sprint(m.payload)
	return m.direction + ": " + text[:min(len(text), longest)]
}
