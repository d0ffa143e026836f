// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// Types of package protocol that users of a connection need, too.
type (
	// Config is [protocol.Config].
	Config = protocol.Config
	// Keepalive is [protocol.Keepalive].
	Keepalive = protocol.Keepalive
	// Side is [protocol.Side].
	Side = protocol.Side
	// Receiver is [protocol.Receiver].
	Receiver = protocol.Receiver
	// Frames is [protocol.Frames].
	Frames = protocol.Frames
	// Pieces is [protocol.Pieces].
	Pieces = protocol.Pieces
	// FieldSource is [protocol.FieldSource].
	FieldSource = protocol.FieldSource
	// FieldWriter is [protocol.FieldWriter].
	FieldWriter = protocol.FieldWriter
	// HeaderBlock is [protocol.HeaderBlock].
	HeaderBlock = protocol.HeaderBlock
	// Shared is [protocol.Shared].
	Shared = protocol.Shared
	// PanicLog is [protocol.PanicLog].
	PanicLog = protocol.PanicLog
	// ConnError is [protocol.ConnError].
	ConnError = protocol.ConnError
	// StreamError is [protocol.StreamError].
	StreamError = protocol.StreamError
	// IOError is [protocol.IOError].
	IOError = protocol.IOError
	// ErrHeaderListTooLarge is [protocol.ErrHeaderListTooLarge].
	ErrHeaderListTooLarge = protocol.ErrHeaderListTooLarge
)

// The two sides.
const (
	Client = protocol.Client
	Server = protocol.Server
)

// Errors of a connection and its streams.
var (
	ErrClosed   = protocol.ErrClosed
	ErrNotAlive = protocol.ErrNotAlive
	ErrNoPlace  = protocol.ErrNoPlace
)

// OnePiece returns the message that is in b.
func OnePiece(b mem.Buffer) Pieces { return protocol.OnePiece(b) }

// PiecesOf returns the message that is in s. s and the result hold the same references.
func PiecesOf(s mem.BufferSlice) Pieces { return protocol.PiecesOf(s) }

// NewShared is protocol.NewShared.
func NewShared(size int, refs []*hpack.Field) Shared { return protocol.NewShared(size, refs) }
