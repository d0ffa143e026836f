// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// serverCall is one call as the transport has it, over HTTP/2 of our own
// (*transport.ServerStream) or behind net/http (*transport.HandlerStream).
type serverCall interface {
	called
	SetHeader(metadata.MD) error
	SendHeader(metadata.MD) error
	SetTrailer(metadata.MD) error

	Context() context.Context
	BareContext() context.Context
	Peer() *peer.Peer
	ContentSubtype() string
	RecvCompress() string
	AcceptEncoding() string
	IncomingHeader() metadata.MD
	HeaderWireLength() int

	HandOver(handover.Owner) error
	Owner() handover.Owner
	Arm(w handover.Waker, input bool) handover.Events
	ArmRoom(w handover.Waker, lazy bool) bool
	Offer(p *transport.Payload, w handover.Waker, more int) (taken bool, err error)
	Flush()
	Conn() any
	Fate() error
	Done()

	Recv() (transport.Message, error)
	Send(transport.Payload) error
	Reply(transport.Payload) error
	Finish(*status.Status) error

	Headers() metadata.MD
	Trailers() metadata.MD
	HeaderSent() bool
	SetSendCompress(name string) error
	SendCompress() string
}

var (
	_ serverCall = (*transport.ServerStream)(nil)
	_ serverCall = (*transport.HandlerStream)(nil)
)
