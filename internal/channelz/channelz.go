// SPDX-License-Identifier: Apache-2.0

// Package channelz keeps the records that the channelz service shows (gRFC A14).
//
// It is off until TurnOn, which the package channelz/service calls when a program
// imports it. While it is off NewNode and NewSocket return nil, and every method of a
// nil *Node or *Socket does nothing, so that callers need no condition: a program
// without the service pays one nil comparison for each event, and no memory at all.
//
// While it is on an RPC costs a few atomic additions. A socket costs about 100 bytes:
// what it has to tell is asked of its SocketSource when somebody reads it.
package channelz

import (
	"fmt"
	"sync/atomic"
)

var (
	on     atomic.Bool
	lastID atomic.Int64
)

// TurnOn makes everything that is created from now on appear in channelz. There is no
// way back.
func TurnOn() { on.Store(true) }

// IsOn says whether TurnOn was called.
func IsOn() bool { return on.Load() }

// Identifier stands for one thing in the registry: a *Node or a *Socket, which may be
// nil while channelz is off.
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

// String returns the kind's name for people.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

func describe(k Kind, id int64) string {
	return fmt.Sprintf("%v #%d", k, id)
}

// Ref names a thing in the registry.
type Ref struct {
	Kind Kind
	ID   int64
	Name string
}
