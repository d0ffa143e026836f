// SPDX-License-Identifier: Apache-2.0

// Package binarylog logs RPCs as gRFC A16 says: what a client or server sends and
// receives is cut to configured sizes and written to a sink that the application chose.
//
// NewCall is called once for each RPC and returns its log. That is nil for a method that the
// filter does not name, and while there is no sink. Every method of a nil *Call does nothing.
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

// Side is a side of an RPC.
type Side uint8

// The sides.
const (
	Client Side = iota
	Server
)

// Call is the log of one RPC. Its methods are safe for concurrent use, and may be called
// on nil. They copy those of their arguments that they need later.
type Call struct {
	side    Side
	loggers []MethodLogger
	ctx     context.Context // the context that is passed to the loggers

	mu       sync.Mutex // orders the entries, and guards the fields below
	peerDone bool       // says that the peer's address was logged
	ended    bool       // the end was logged
	unopened *entry     // the ClientHeader of an RPC that has not been opened yet
}

// NewCall begins the log of an RPC whose method is "/package.Service/Method". The RPC is
// logged if the environment's filter or more wants it. more may be nil.
func NewCall(ctx context.Context, side Side, method string, more Logger) *Call {
	filter := fromEnvironment()
	if filter == nil && more == nil { // nearly always
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

// In sets the context that is passed to the loggers, in place of NewCall's. It must be called
// before the first entry.
func (c *Call) In(ctx context.Context) {
	if c != nil {
		c.ctx = ctx
	}
}

// ClientHeader has what is logged of the beginning of an RPC.
type ClientHeader struct {
	// Method is "/package.Service/Method".
	Method, Authority string
	Metadata          metadata.MD
	// Timeout is the RPC's timeout. It is not positive if there is none.
	Timeout time.Duration
	// Peer is the client's address, on the server only.
	Peer net.Addr
}

// ClientHeader logs the beginning of the RPC.
func (c *Call) ClientHeader(h ClientHeader) {
	if c != nil {
		c.write(headerEntry(h), h.Peer)
	}
}

// Begin keeps the beginning of a client's RPC, and logs it when Opened is called, or before the
// first entry of a message or of the server. An RPC that ends before that is not logged, because
// nothing of it was sent.
func (c *Call) Begin(h ClientHeader) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unopened = headerEntry(h)
}

// Opened logs the beginning that Begin has kept. It is called when the RPC's stream is open.
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

// text returns s as a string of Protocol Buffers has to be. A peer may send any bytes, and an entry with others than
// UTF-8 can't be marshalled.
func text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func headerEntry(h ClientHeader) *entry {
	out := &pb.ClientHeader{MethodName: text(h.Method), Authority: text(h.Authority)}
	if h.Timeout > 0 {
		out.Timeout = durationpb.New(h.Timeout)
	}
	return &entry{&pb.GrpcLogEntry{
		Type:    pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER,
		Payload: &pb.GrpcLogEntry_ClientHeader{ClientHeader: out},
	}, fieldsOf(h.Metadata)}
}

// ServerHeader logs the header of the response. On a client peer is the server's address,
// and on a server it is nil.
func (c *Call) ServerHeader(md metadata.MD, peer net.Addr) {
	if c == nil {
		return
	}
	c.write(&entry{&pb.GrpcLogEntry{
		Type:    pb.GrpcLogEntry_EVENT_TYPE_SERVER_HEADER,
		Payload: &pb.GrpcLogEntry_ServerHeader{},
	}, fieldsOf(md)}, peer)
}

// Message logs a message that the side from has sent. message is uncompressed and has no
// gRPC prefix.
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

// Trailer logs the end of the RPC. On a client peer is the server's address, or nil if there is
// none. On a server it is nil.
func (c *Call) Trailer(s *status.Status, md metadata.MD, peer net.Addr) {
	if c == nil {
		return
	}
	out := &pb.Trailer{StatusCode: uint32(s.Code()), StatusMessage: text(s.Message())}
	if p := s.Proto(); len(p.GetDetails()) > 0 {
		p.Message = text(p.Message)
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

// write completes an entry and passes it to the loggers. It drops the end of an RPC that was never opened, and what comes
// after the end of a client's: each side of an RPC has a goroutine, and they race. On a server the end may be that of the
// client's messages alone. A server
// logs the peer once. A client logs it with the header and with the trailer.
func (c *Call) write(e *entry, peer net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := e.whole.Type
	ends := kind == pb.GrpcLogEntry_EVENT_TYPE_CANCEL || kind == pb.GrpcLogEntry_EVENT_TYPE_SERVER_TRAILER
	if ends && peer == nil && c.unopened != nil ||
		c.ended && (c.side == Client || kind == pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HALF_CLOSE) {
		return
	}
	c.ended = c.ended || ends
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

// field is one entry of the metadata.
type field struct{ key, value string }

// fieldsOf returns the metadata that the application sent. It does not copy the values, because
// limits may cut most of them off.
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

// omitted reports whether a header is not logged: gRPC's and HTTP's own headers, and those
// with secrets (gRFC A16).
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
