// SPDX-License-Identifier: Apache-2.0

// Package channelz keeps the records that the channelz service shows (gRFC A14).
//
// It is off until TurnOn, which the packages channelz/service and experimental/debugpage call when
// a program imports them. While it is off NewNode and NewSocket return nil, and every method of a
// nil *Node or *Socket does nothing, so that callers need no condition: a program
// without the service pays one nil comparison for each event, and no memory at all.
//
// While it is on, an RPC costs a few atomic additions, and a socket costs about 100 bytes:
// its data is not kept here, but comes from its SocketSource each time it is read.
package channelz

import (
	"fmt"
	"sync/atomic"
)

var (
	on     atomic.Bool
	lastID atomic.Int64
)

// TurnOn makes everything that is created from now on appear in channelz. It can't be
// turned off again.
func TurnOn() { on.Store(true) }

// IsOn reports whether TurnOn was called.
func IsOn() bool { return on.Load() }

// Identifier identifies one entry of the registry. It is a *Node or a *Socket, and may be a
// nil one while channelz is off.
type Identifier interface {
	fmt.Stringer
	channelzIdentifier()
}

// Kind says what a Node, or the subject of a TraceEvent, is.
type Kind uint8

// The kinds.
const (
	Channel Kind = iota
	Subchannel
	Server
	// Listener is a socket that accepts connections.
	Listener
	// Connection is a socket that carries RPCs.
	Connection
)

var kindNames = [...]string{"Channel", "Subchannel", "Server", "Listen socket", "Socket"}

// String returns the kind's name for texts that people read.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

func describe(k Kind, id int64) string {
	return fmt.Sprintf("%v #%d", k, id)
}

// Ref refers to an entry of the registry.
type Ref struct {
	Kind Kind
	ID   int64
	Name string
}
