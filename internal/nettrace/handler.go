// SPDX-License-Identifier: Apache-2.0

// Package nettrace records RPCs for golang.org/x/net/trace, whose page /debug/requests shows
// them: those of clients in the families "grpc.Sent." and the service's name, those of
// servers in "grpc.Recv.". It brings html/template and text/template with it, with which the
// linker can't leave out methods that nobody calls, so no package that a program imports for
// other reasons imports this one.
package nettrace

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/net/trace"

	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/stats"
)

// Register has RPCs recorded of all channels and servers that are made from now on, while
// enabled returns true when they begin.
func Register(enabled func() bool) {
	telemetry.AddHandlers(&handler{enabled: enabled, family: "Sent", towards: "to"}, &handler{enabled: enabled, family: "Recv", towards: "from"})
}

// handler records the RPCs of one side.
type handler struct {
	enabled         func() bool
	family, towards string
	services        families
}

// longestTitle is how many bytes of a method's name are the title of a trace.
const longestTitle = 1 << 10

func title(method string) string {
	if len(method) <= longestTitle {
		return method
	}
	return strings.Clone(method[:longestTitle])
}

// record is an RPC, or an attempt of one, that is recorded. It is in the context.
type record struct {
	trace   trace.Trace
	towards string
	begun   bool // an end will be told
}

// recordKey is the key of a record. The side is a part of it: a handler's context is that of
// the calls it makes.
type recordKey struct{ of *handler }

// TagRPC begins a trace, which handlers find with trace.FromContext.
func (h *handler) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if !h.enabled() {
		return ctx
	}
	method := info.FullMethodName
	tr := trace.New("grpc."+h.family+"."+h.services.of(method), title(method))
	ctx = trace.NewContext(ctx, tr)
	return context.WithValue(ctx, recordKey{h}, &record{trace: tr, towards: h.towards})
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
		r.trace.LazyLog(message{"sent", s.Payload}, true)
	case *stats.InPayload:
		r.trace.LazyLog(message{"recv", s.Payload}, true)
	case *stats.Begin:
		r.begun = true
	case *stats.OutTrailer:
		if !r.begun && !s.Client { // the last that is told of an RPC whose method nobody serves
			r.trace.Finish()
		}
	case *stats.End:
		r.end(s.Error)
	}
}

// introduce writes the first line.
func (r *record) introduce(ctx context.Context, peer net.Addr) {
	left := "none"
	if d, ok := ctx.Deadline(); ok {
		left = time.Until(d).String()
	}
	r.trace.LazyPrintf("RPC: %s %v deadline:%s", r.towards, peer, left)
}

func (r *record) end(err error) {
	if err != nil {
		r.trace.LazyPrintf("RPC: [%v]", err)
		r.trace.SetError()
	}
	r.trace.Finish()
}

func (*handler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (*handler) HandleConn(context.Context, stats.ConnStats) {}

// message is formatted when somebody looks at the page, if ever.
type message struct {
	direction string
	payload   any
}

// longest is how many bytes of a message are shown.
const longest = 100

func (m message) String() string {
	text := fmt.Sprint(m.payload)
	if len(text) > longest {
		text = text[:longest]
	}
	return m.direction + ": " + text
}
