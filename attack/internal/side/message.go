// SPDX-License-Identifier: Apache-2.0

// Package side is one side of a crossing: a client or a server of this module, or of the published one, over
// a network that another process decides on. Its tests are the program: they are built on each implementation and
// run in a bubble of testing/synctest, whose clock that process moves, too. What both say to each other is here.
package side

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// Op says what a Message is.
type Op uint8

// Orders. A side does nothing else until Wait, and answers that with what happened since, and Quiet.
const (
	Begin     Op = iota + 1 // a history; N is the Role, M are Settings, D is a seed
	Wait                    // until nobody goes on by himself
	Sleep                   // D of the bubble's clock
	End                     // of the history; the side ends all that is its own, and answers with Quiet
	Stacks                  // of all goroutines; they come as a Told
	Connected               // Conn is up; the client's side asked for it with Dial
	Refused                 // Conn is not
	Accept                  // Conn has come to the server
	Deliver                 // Data has arrived on Conn
	EOF                     // the end has arrived on Conn
	Reset                   // Conn is broken
	Room                    // N bytes more may be written on Conn
	Start                   // Call; N is the Kind, M the size of a unary request, D its deadline, 0 for none
	Send                    // a message of N bytes, by the client or by the handler of Call
	CloseSend               // by the client
	Recv                    // a message, by the client or by the handler
	Return                  // of a handler, with code N; M is the size of a unary reply
	Cancel                  // Call, by the client
	Stop                    // the server, at once
	Drain                   // the server, as GracefulStop does
	Serve                   // again, after Stop or Drain
	Close                   // the channel
)

// Events.
const (
	Quiet    Op = iota + 100 // all that can go on without orders has done so
	Dial                     // the client wants Conn
	Wrote                    // Data on Conn
	Closed                   // Conn was closed by this side
	Began                    // the handler of Call, on Conn
	Sent                     // a message, or CloseSend; N is 0 where it failed
	Received                 // a message of N bytes
	HalfDone                 // the handler has received the last message
	Failed                   // a receive of the handler's
	Done                     // the context of the handler of Call
	Over                     // Call, for the client, with code N and Data as its message; M is 1 where its metadata lacks
	Stopped                  // Stop or Drain has returned
	Fault                    // Data says what must not be
	Told                     // Data
)

var opNames = map[Op]string{
	Begin: "begin", Wait: "wait", Sleep: "sleep", End: "end", Stacks: "stacks", Connected: "connected", Refused: "refused",
	Accept: "accept", Deliver: "deliver", EOF: "EOF", Reset: "reset", Room: "room", Start: "start", Send: "send",
	CloseSend: "close send", Recv: "receive", Return: "return", Cancel: "cancel", Stop: "stop", Drain: "drain",
	Serve: "serve", Close: "close", Quiet: "quiet", Dial: "dial", Wrote: "wrote", Closed: "closed", Began: "began", Sent: "sent",
	Received: "received", HalfDone: "half done", Failed: "failed", Done: "done", Over: "over", Stopped: "stopped",
	Fault: "FAULT", Told: "told",
}

func (o Op) String() string { return opNames[o] }

// Role is what a side is in a history.
type Role = int

// Roles.
const (
	Client Role = iota
	Server
)

// Kind is what a call is, and how it waits for connections.
type Kind = int

// Kinds are bits.
const (
	Streaming    Kind = 1 << iota // else unary
	WaitForReady                  // else it fails when there is no connection
	Compressed                    // with gzip
)

// Settings of a side are bits.
const (
	SmallWindows = 1 << iota // 64 KiB, and static
	FewStreams               // two on a connection
	Keepalive
	Ages      // the server takes leave of connections after five seconds
	SmallRoom // 2 KiB may be on their way in a direction
	// PlainConns are net.Conns of which nobody knows anything. Otherwise those of this module are sockets with
	// descriptors; the published module knows no others.
	PlainConns
	Secure // TLS
	EndOfSettings
)

// Message is an order or an event.
type Message struct {
	Op         Op
	Conn, Call int
	N, M       int
	D          time.Duration
	Data       []byte
}

func (m Message) String() string {
	s := fmt.Sprintf("%-9v", m.Op)
	if m.Conn > 0 {
		s += fmt.Sprintf(" conn %d", m.Conn)
	}
	if m.Call > 0 {
		s += fmt.Sprintf(" call %d", m.Call)
	}
	if m.N != 0 || m.M != 0 {
		s += fmt.Sprintf(" %d %d", m.N, m.M)
	}
	if m.D != 0 {
		s += " " + m.D.String()
	}
	switch {
	case m.Op == Deliver || m.Op == Wrote:
		s += fmt.Sprintf(" %d bytes", len(m.Data))
	case len(m.Data) > 0:
		s += fmt.Sprintf(" %q", m.Data)
	}
	return s
}

// Append appends the encoding of m to b.
func (m Message) Append(b []byte) []byte {
	b = append(b, byte(m.Op))
	for _, n := range [...]uint64{uint64(m.Conn), uint64(m.Call), uint64(m.N), uint64(m.M), uint64(m.D), uint64(len(m.Data))} {
		b = binary.AppendUvarint(b, n)
	}
	return append(b, m.Data...)
}

// Read reads a Message.
func Read(r *bufio.Reader) (m Message, err error) {
	op, err := r.ReadByte()
	if err != nil {
		return m, err
	}
	var n [6]uint64
	for i := range n {
		if n[i], err = binary.ReadUvarint(r); err != nil {
			return m, err
		}
	}
	m = Message{Op: Op(op), Conn: int(n[0]), Call: int(n[1]), N: int(n[2]), M: int(n[3]), D: time.Duration(n[4])}
	if n[5] > 0 {
		m.Data = make([]byte, n[5])
		_, err = io.ReadFull(r, m.Data)
	}
	return m, err
}
