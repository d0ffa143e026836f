// SPDX-License-Identifier: Apache-2.0

// Package stats lets a program watch RPCs and connections. A program passes a Handler to a
// server or a channel as an option, and the Handler is called for every event of its RPCs
// and connections.
package stats

import (
	"net"
	"time"

	"google.golang.org/grpc/metadata"
)

// RPCStats is an event of an RPC: a pointer to one of the structs of this package.
type RPCStats interface {
	isRPCStats()
	// IsClient reports whether the event comes from the client's side of the RPC.
	IsClient() bool
}

// ConnStats is an event of a connection: *ConnBegin or *ConnEnd.
type ConnStats interface {
	isConnStats()
	// IsClient reports whether the event comes from the client's side of the connection.
	IsClient() bool
}

// Begin is the first event of an attempt on a client. On a server it follows the RPC's
// InHeader. An RPC whose method is not registered has neither Begin nor End there.
type Begin struct {
	// Client says which side reports the event.
	Client bool
	// BeginTime is when the RPC, or the attempt, began.
	BeginTime time.Time
	// FailFast says that the RPC is not wait-for-ready. Client only.
	FailFast bool
	// IsClientStream says that the client may send more than one message.
	IsClientStream bool
	// IsServerStream says that the server may send more than one message.
	IsServerStream bool
	// IsTransparentRetryAttempt says that the attempt repeats one that no server
	// application saw (gRFC A6). Client only.
	IsTransparentRetryAttempt bool
}

// IsClient says whether the client's side reports the event.
func (s *Begin) IsClient() bool { return s.Client }

func (*Begin) isRPCStats() {}

// DelayedPickComplete is the event that an attempt on a client has got a connection after it
// had to wait for one. There is no such event for an attempt that did not have to wait.
type DelayedPickComplete struct{}

// IsClient returns true: only clients pick connections.
func (*DelayedPickComplete) IsClient() bool { return true }

func (*DelayedPickComplete) isRPCStats() {}

// PickerUpdated is the earlier name of DelayedPickComplete.
//
// Deprecated: use DelayedPickComplete.
type PickerUpdated = DelayedPickComplete

// InPayload is a message that was received.
type InPayload struct {
	// Client says which side reports the event.
	Client bool
	// Payload is the decoded message. It belongs to the application: do not change
	// it, and do not keep it.
	Payload any
	// Length is the size of the message decompressed, in bytes.
	Length int
	// CompressedLength is the size of the message on the wire, compressed or not,
	// without framing.
	CompressedLength int
	// WireLength is CompressedLength with the 5 bytes of gRPC framing. HTTP/2
	// framing and encryption are not counted.
	WireLength int
	// RecvTime is when the program received the message, which may have waited for it.
	RecvTime time.Time
}

// IsClient says whether the client's side reports the event.
func (s *InPayload) IsClient() bool { return s.Client }

func (*InPayload) isRPCStats() {}

// InHeader is the arrival of the header block that begins a request or a response.
type InHeader struct {
	// Client says which side reports the event.
	Client bool
	// WireLength is the size of the block on the wire, as HPACK coded it. It is 0 behind
	// net/http, which does not tell.
	WireLength int
	// Compression is the algorithm that the peer's messages use. It is empty if there is
	// none.
	Compression string
	// Header is the metadata that was received. Do not change it.
	Header metadata.MD

	// The fields below are set on a server only.

	// FullMethod is "/package.service/method".
	FullMethod string
	// RemoteAddr and LocalAddr are the two ends of the connection.
	RemoteAddr net.Addr
	LocalAddr  net.Addr
}

// IsClient says whether the client's side reports the event.
func (s *InHeader) IsClient() bool { return s.Client }

func (*InHeader) isRPCStats() {}

// InTrailer is the arrival of the trailers that end a response.
type InTrailer struct {
	// Client says which side reports the event.
	Client bool
	// WireLength is the size of the block on the wire, as HPACK coded it.
	WireLength int
	// Trailer is the metadata that a client received. Do not change it.
	Trailer metadata.MD
}

// IsClient says whether the client's side reports the event.
func (s *InTrailer) IsClient() bool { return s.Client }

func (*InTrailer) isRPCStats() {}

// OutPayload is a message that was sent.
type OutPayload struct {
	// Client says which side reports the event.
	Client bool
	// Payload is the message as the application gave it. Do not change it, and do
	// not keep it.
	Payload any
	// Length is the size of the encoded message before compression, in bytes.
	Length int
	// CompressedLength is the size after compression. It equals Length if the message is
	// not compressed.
	CompressedLength int
	// WireLength is CompressedLength with the 5 bytes of gRPC framing. HTTP/2
	// framing and encryption are not counted.
	WireLength int
	// SentTime is when the message was handed to the connection.
	SentTime time.Time
}

// IsClient says whether the client's side reports the event.
func (s *OutPayload) IsClient() bool { return s.Client }

func (*OutPayload) isRPCStats() {}

// OutHeader is the sending of the header block that begins a request or a response.
type OutHeader struct {
	// Client says which side reports the event.
	Client bool
	// Compression is the algorithm that the messages will use. It is empty if there is
	// none.
	Compression string
	// Header is the metadata that is sent. Do not change it.
	Header metadata.MD

	// The fields below are set on a client only.

	// FullMethod is "/package.service/method".
	FullMethod string
	// RemoteAddr and LocalAddr are the two ends of the connection.
	RemoteAddr net.Addr
	LocalAddr  net.Addr
	// Authority is the :authority of the request.
	Authority string
}

// IsClient says whether the client's side reports the event.
func (s *OutHeader) IsClient() bool { return s.Client }

func (*OutHeader) isRPCStats() {}

// OutTrailer is the sending of the trailers that end a response.
type OutTrailer struct {
	// Client says which side reports the event.
	Client bool
	// WireLength is always 0.
	//
	// Deprecated: the size is not known when the event is made.
	WireLength int
	// Trailer is the metadata that is sent. Do not change it.
	Trailer metadata.MD
}

// IsClient says whether the client's side reports the event.
func (s *OutTrailer) IsClient() bool { return s.Client }

func (*OutTrailer) isRPCStats() {}

// End is the last event of an RPC on a server, and of an attempt on a client, with one exception: what the program sends
// or receives of a stream whose context has ended is told when it does, which may be later. It comes only where Begin has
// come.
type End struct {
	// Client says which side reports the event.
	Client bool
	// BeginTime is when the RPC, or the attempt, began.
	BeginTime time.Time
	// EndTime is when the RPC, or the attempt, ended.
	EndTime time.Time
	// Trailer is the metadata of the trailers that a client received.
	//
	// Deprecated: use the Trailer of InTrailer.
	Trailer metadata.MD
	// Error is nil for a success. Otherwise package status can get the code from it. On a
	// server it is the error that the handler returned.
	Error error
}

// IsClient says whether the client's side reports the event.
func (s *End) IsClient() bool { return s.Client }

func (*End) isRPCStats() {}

// ConnBegin is the event that a connection is established.
type ConnBegin struct {
	// Client says which side reports the event.
	Client bool
}

// IsClient says whether the client's side reports the event.
func (s *ConnBegin) IsClient() bool { return s.Client }

func (*ConnBegin) isConnStats() {}

// ConnEnd is the event that a connection is closed.
type ConnEnd struct {
	// Client says which side reports the event.
	Client bool
}

// IsClient says whether the client's side reports the event.
func (s *ConnEnd) IsClient() bool { return s.Client }

func (*ConnEnd) isConnStats() {}
