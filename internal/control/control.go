// SPDX-License-Identifier: Apache-2.0

// Package control is what package grpc and package experimental/servercontrol agree upon: which
// connections and RPCs a server has, and how it is drained within a time.
package control

import (
	"context"
	"hash/maphash"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/shrink"
	"google.golang.org/grpc/peer"
)

// Server is a server as its Control sees it.
type Server interface {
	// GracefulStop drains the server. When ctx ends first it returns its cause, and how many
	// connections are left.
	GracefulStop(ctx context.Context) (conns int, err error)
	Conns() []Conn
	RPCs() []RPC
	Lost() []Lost
}

// Conn is a connection.
type Conn struct {
	ID    uint64 // of the process, not 0
	Began time.Time
	Link  Link
}

// Link is what a connection does, and tells of itself.
type Link interface {
	Peer() *peer.Peer
	Status() Status
	Drain(reason string)
	Close(err error)
}

// Status is how a connection stands.
type Status struct {
	Streams                int
	Parked                 bool
	NotParkable            string
	BytesHeld              int
	SendWindow, RecvWindow uint32
	RoundTrip              time.Duration
	LastError              string
	LastErrorAt            time.Time
	Draining               bool
	Silent                 bool
}

// Lost is a connection that ended by an error.
type Lost struct {
	ID           uint64
	Addr         net.Addr // of the client; nil: not known
	Began, Ended time.Time
	Err          error
}

// remembered is how many connections a Tracker remembers that were lost.
const remembered = 16

// RPC is an RPC that is under way: its handler has begun, or is about to, and the RPC is not over. It may go
// on after its handler has returned (package experimental/streams).
type RPC struct {
	Method string
	Peer   *peer.Peer
	Conn   any // the Link that brought it, or what stands for it behind net/http
	Began  time.Time
}

// Tracker knows the connections and RPCs of a server. Its methods may be called on a nil Tracker,
// which knows none.
type Tracker struct {
	seed   maphash.Seed
	shards [16]shard

	mu    sync.Mutex
	conns map[Link]Conn
	most  int    // see shrink.Delete
	lost  []Lost // the last ones, the oldest first
}

// shard has the RPCs with some hashes.
type shard struct {
	mu   sync.Mutex
	rpcs map[any]RPC
	most int // see shrink.Delete
}

// NewTracker returns one that knows nothing yet.
func NewTracker() *Tracker {
	return &Tracker{seed: maphash.MakeSeed(), conns: make(map[Link]Conn)}
}

var lastID atomic.Uint64

// BeginConn follows the beginning of a connection.
func (t *Tracker) BeginConn(l Link) {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.conns[l] = Conn{ID: lastID.Add(1), Began: time.Now(), Link: l}
	t.mu.Unlock()
}

// EndConn follows its end. A connection that ended by an error, which is not nil then, is remembered
// for a while, without what it holds.
func (t *Tracker) EndConn(l Link, err error) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.conns[l]
	t.conns = shrink.Delete(t.conns, l, &t.most)
	if err == nil {
		return
	}
	if len(t.lost) == remembered {
		t.lost = slices.Delete(t.lost, 0, 1)
	}
	lost := Lost{ID: c.ID, Began: c.Began, Ended: time.Now(), Err: err}
	if p := l.Peer(); p != nil {
		lost.Addr = p.Addr
	}
	t.lost = append(t.lost, lost)
}

// Lost returns the last connections that ended by an error, the oldest first.
func (t *Tracker) Lost() []Lost {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lost)
}

// Conns returns those that are open.
func (t *Tracker) Conns() []Conn {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Conn, 0, len(t.conns))
	for _, c := range t.conns {
		list = append(list, c)
	}
	return list
}

func (t *Tracker) of(call any) *shard {
	return &t.shards[maphash.Comparable(t.seed, call)%uint64(len(t.shards))]
}

// Tracked is an RPC as the server has it: a pointer.
type Tracked interface {
	Method() string
	Peer() *peer.Peer
	Conn() any
}

// Begin follows the beginning of an RPC.
func (t *Tracker) Begin(call Tracked) {
	if t == nil {
		return
	}
	rpc := RPC{Method: call.Method(), Peer: call.Peer(), Conn: call.Conn(), Began: time.Now()}
	s := t.of(call)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rpcs == nil {
		s.rpcs = make(map[any]RPC)
	}
	s.rpcs[call] = rpc
}

// End follows its end.
func (t *Tracker) End(call Tracked) {
	if t == nil {
		return
	}
	s := t.of(call)
	s.mu.Lock()
	s.rpcs = shrink.Delete(s.rpcs, any(call), &s.most)
	s.mu.Unlock()
}

// RPCs returns those that are under way.
func (t *Tracker) RPCs() []RPC {
	if t == nil {
		return nil
	}
	var list []RPC
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		for _, rpc := range s.rpcs {
			list = append(list, rpc)
		}
		s.mu.Unlock()
	}
	return list
}
