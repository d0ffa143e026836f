// SPDX-License-Identifier: Apache-2.0

// Package binarylog records RPCs as gRFC A16 has it: what a client or server sends
// and receives goes, cut to configured sizes, to a sink that the application chose.
//
// An RPC asks NewCall for its log once. It is nil for a method that the filter does not
// name, and while there is no sink; every method of a nil *Call does nothing.
package binarylog

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Side is who logs.
type Side uint8

// The sides.
const (
	Client Side = iota
	Server
)

// Call is the log of one RPC. Its methods are safe for concurrent use, and may be called
// on nil. What they are given is copied where it is needed later.
type Call struct {
	side    Side
	loggers []MethodLogger
	ctx     context.Context // that the loggers are given

	mu       sync.Mutex // orders the entries, and guards what follows
	peerDone bool       // the peer's address was logged
	unopened *entry     // the beginning of an RPC that is not on its way yet
}

// NewCall begins the log of an RPC, whose method is "/package.Service/Method". The
// environment's filter and more, if it is not nil, both say whether there is one.
func NewCall(ctx context.Context, side Side, method string, more Logger) *Call {
	filter := fromEnvironment()
	if filter == nil && more == nil { // hardly ever anything else
		return nil
	}
	return newCall(ctx, side, method, filter, more)
}

func newCall(ctx context.Context, side Side, method string, filter *Filter, more Logger) *Call {
	var loggers []MethodLogger
	if to := sink(); to != nil {
		if limits, ok := filter.Method(method); ok {
			loggers = append(loggers, newMethodLogger(limits, to))
		}
	}
	if more != nil {
		if l := more.GetMethodLogger(method); l != nil {
			loggers = append(loggers, l)
		}
	}
	if len(loggers) == 0 {
		return nil
	}
	return &Call{side: side, loggers: loggers, ctx: ctx}
}

// In has the loggers given ctx, before the first entry, in place of NewCall's.
func (c *Call) In(ctx context.Context) {
	if c != nil {
		c.ctx = ctx
	}
}

// ClientHeader is what an RPC begins with.
type ClientHeader struct {
	// Method is "/package.Service/Method".
	Method, Authority string
	Metadata          metadata.MD
	// Timeout is not positive if there is none.
	Timeout time.Duration
	// Peer is the client's address, on the server only.
	Peer net.Addr
}

// ClientHeader logs the beginning.
func (c *Call) ClientHeader(h ClientHeader) {
	if c != nil {
		c.write(headerEntry(h), h.Peer)
	}
}

// Begin keeps the beginning of a client's RPC until Opened, or until there is an entry of a
// message or of the server's. An RPC that ends before is not logged: nothing of it was sent.
func (c *Call) Begin(h ClientHeader) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unopened = headerEntry(h)
}

// Opened logs the beginning: the RPC is on its way.
func (c *Call) Opened() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.openLocked()
}

func (c *Call) openLocked() {
	if e := c.unopened; e != nil {
		c.unopened = nil
		c.writeLocked(e, nil)
	}
}

func headerEntry(h ClientHeader) *entry {
	out := &pb.ClientHeader{MethodName: h.Method, Authority: h.Authority}
	if h.Timeout > 0 {
		out.Timeout = durationpb.New(h.Timeout)
	}
	return &entry{&pb.GrpcLogEntry{
		Type:    pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER,
		Payload: &pb.GrpcLogEntry_ClientHeader{ClientHeader: out},
	}, fieldsOf(h.Metadata)}
}

// ServerHeader logs the header of the answer. The peer is the server's address, on the
// client only.
func (c *Call) ServerHeader(md metadata.MD, peer net.Addr) {
	if c == nil {
		return
	}
	c.write(&entry{&pb.GrpcLogEntry{
		Type:    pb.GrpcLogEntry_EVENT_TYPE_SERVER_HEADER,
		Payload: &pb.GrpcLogEntry_ServerHeader{},
	}, fieldsOf(md)}, peer)
}

// Message logs a message, uncompressed and without its prefix, that the side from sent.
func (c *Call) Message(from Side, message []byte) {
	if c == nil {
		return
	}
	e := &pb.GrpcLogEntry{
		Type:    pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE,
		Payload: &pb.GrpcLogEntry_Message{Message: &pb.Message{Length: uint32(len(message)), Data: message}},
	}
	if from == Server {
		e.Type = pb.GrpcLogEntry_EVENT_TYPE_SERVER_MESSAGE
	}
	c.write(&entry{whole: e}, nil)
}

// HalfClose logs that the client has sent its last message.
func (c *Call) HalfClose() {
	if c != nil {
		c.write(&entry{whole: &pb.GrpcLogEntry{Type: pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HALF_CLOSE}}, nil)
	}
}

// Cancel logs that the RPC was cancelled.
func (c *Call) Cancel() {
	if c != nil {
		c.write(&entry{whole: &pb.GrpcLogEntry{Type: pb.GrpcLogEntry_EVENT_TYPE_CANCEL}}, nil)
	}
}

// Trailer logs the end. The peer is the server's address, on the client only, if there is
// one.
func (c *Call) Trailer(s *status.Status, md metadata.MD, peer net.Addr) {
	if c == nil {
		return
	}
	out := &pb.Trailer{StatusCode: uint32(s.Code()), StatusMessage: s.Message()}
	if p := s.Proto(); len(p.GetDetails()) > 0 {
		details, err := proto.Marshal(p)
		if err != nil {
			logger.Warningf("status details are not logged: %v", err)
		}
		out.StatusDetails = details
	}
	c.write(&entry{&pb.GrpcLogEntry{
		Type:    pb.GrpcLogEntry_EVENT_TYPE_SERVER_TRAILER,
		Payload: &pb.GrpcLogEntry_Trailer{Trailer: out},
	}, fieldsOf(md)}, peer)
}

// write completes an entry and passes it on, unless it is the end of what never began. On a
// server the peer is logged once; a client tells it with the header and with the trailer.
func (c *Call) write(e *entry, peer net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := e.whole.Type
	ends := kind == pb.GrpcLogEntry_EVENT_TYPE_CANCEL || kind == pb.GrpcLogEntry_EVENT_TYPE_SERVER_TRAILER
	if ends && peer == nil && c.unopened != nil {
		return
	}
	c.openLocked()
	c.writeLocked(e, peer)
}

func (c *Call) writeLocked(e *entry, peer net.Addr) {
	e.whole.Logger = pb.GrpcLogEntry_LOGGER_CLIENT
	if c.side == Server {
		e.whole.Logger = pb.GrpcLogEntry_LOGGER_SERVER
	}
	if peer != nil && (c.side == Client || !c.peerDone) {
		c.peerDone = true
		e.whole.Peer = addressOf(peer)
	}
	for _, l := range c.loggers {
		l.Log(c.ctx, e)
	}
}

// field is one of the metadata.
type field struct{ key, value string }

// fieldsOf is the metadata that the application sent. The values are not copied: a log may keep little
// of them.
func fieldsOf(md metadata.MD) (fields []field) {
	for _, key := range sortedKeys(md) {
		if omitted(key) {
			continue
		}
		for _, value := range md[key] {
			fields = append(fields, field{key, value})
		}
	}
	return fields
}

// omitted says whether a header is one of gRPC's or HTTP's own, or holds a secret (gRFC A16).
func omitted(key string) bool {
	switch key {
	case "authorization":
		return true
	case "lb-token", "content-type", "content-encoding", "user-agent", "te", "host":
		return true
	case traceKey:
		return false
	}
	return strings.HasPrefix(key, "grpc-") || strings.HasPrefix(key, ":")
}
