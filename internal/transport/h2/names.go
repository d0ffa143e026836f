// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// Names of package protocol that users of a connection need, too.
type (
	// Config is protocol's.
	Config = protocol.Config
	// Keepalive is protocol's.
	Keepalive = protocol.Keepalive
	// Side is protocol's.
	Side = protocol.Side
	// Receiver is protocol's.
	Receiver = protocol.Receiver
	// Frames is protocol's.
	Frames = protocol.Frames
	// Pieces is protocol's.
	Pieces = protocol.Pieces
	// FieldSource is protocol's.
	FieldSource = protocol.FieldSource
	// FieldWriter is protocol's.
	FieldWriter = protocol.FieldWriter
	// HeaderBlock is protocol's.
	HeaderBlock = protocol.HeaderBlock
	// Shared is protocol's.
	Shared = protocol.Shared
	// PanicLog is protocol's.
	PanicLog = protocol.PanicLog
	// ConnError is protocol's.
	ConnError = protocol.ConnError
	// StreamError is protocol's.
	StreamError = protocol.StreamError
	// IOError is protocol's.
	IOError = protocol.IOError
	// ErrHeaderListTooLarge is protocol's.
	ErrHeaderListTooLarge = protocol.ErrHeaderListTooLarge
)

// The two sides.
const (
	Client = protocol.Client
	Server = protocol.Server
)

// Errors of a connection and its streams.
var (
	ErrClosed     = protocol.ErrClosed
	ErrDraining   = protocol.ErrDraining
	ErrDrained    = protocol.ErrDrained
	ErrNoPlace    = protocol.ErrNoPlace
	ErrStreamDone = protocol.ErrStreamDone
)

// OnePiece is a message that lies in b.
func OnePiece(b mem.Buffer) Pieces { return protocol.OnePiece(b) }

// PiecesOf is the message that s is. Both hold the same references.
func PiecesOf(s mem.BufferSlice) Pieces { return protocol.PiecesOf(s) }

// NewShared is protocol's.
func NewShared(size int, refs []*hpack.Field) Shared { return protocol.NewShared(size, refs) }
