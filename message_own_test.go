// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"
	"unsafe"

	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/ballast"
	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// largest is a pool that knows the largest buffer that it lent.
type largest struct {
	*internalmem.Tiered
	mu     sync.Mutex
	most   int
	forgot map[*byte]int // buffers that were left to the program, with their size
}

func newLargest() *largest {
	return &largest{Tiered: internalmem.NewTiered(4<<10, 32<<10, 256<<10, 1<<20, 1<<20+8<<10), forgot: map[*byte]int{}}
}

func (p *largest) Get(n int) *[]byte {
	p.mu.Lock()
	p.most = max(p.most, n)
	p.mu.Unlock()
	return p.Tiered.Get(n)
}

func (p *largest) Forget(b *[]byte) {
	p.mu.Lock()
	p.forgot[&(*b)[:1][0]] = cap(*b)
	p.mu.Unlock()
	p.Tiered.Forget(b)
}

// serverPool and channelPool are options as those of package experimental.
type serverPool struct {
	EmptyServerOption
	pool mem.BufferPool
}

func (o serverPool) ServerBufferPool() mem.BufferPool { return o.pool }

type channelPool struct {
	EmptyDialOption
	pool mem.BufferPool
}

func (o channelPool) ChannelBufferPool() mem.BufferPool { return o.pool }

// TestOwnIsNotCopied: a large field lies where it was put when it arrived, on both sides, and a small one
// has memory of its own.
func TestOwnIsNotCopied(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for deadline := time.Now().Add(10 * time.Second); !ballast.Roomy(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("collections are seldom, and nobody notices")
		}
	}
	pools := [2]*largest{newLargest(), newLargest()}
	var atServer *octets
	cc := largeChannel(t, &largeService{unary: func(_ context.Context, m *octets) (*octets, error) {
		atServer = m
		return wrapperspb.Bytes(make([]byte, len(m.Value))), nil
	}}, []ServerOption{serverPool{pool: pools[1]}}, []DialOption{
		channelPool{pool: pools[0]},
		WithTransportCredentials(insecure.NewCredentials()),
	}, nil)
	for _, tt := range []struct {
		size int
		owns bool
	}{{1 << 20, true}, {250_000, true}, {150_000, true}, {600_000, true}, {8 << 10, false}, {1 << 20, true}} {
		reply := new(octets)
		if err := cc.Invoke(context.Background(), "/test.Large/Unary", wrapperspb.Bytes(make([]byte, tt.size)), reply); err != nil {
			t.Fatal(err)
		}
		for i, m := range []*octets{reply, atServer} {
			if len(m.Value) != tt.size {
				t.Errorf("%d bytes came, want %d", len(m.Value), tt.size)
			}
			if owns := pools[i].has(m.Value); owns != tt.owns {
				t.Errorf("side %d, %d bytes: lie where they arrived: %v", i, tt.size, owns)
			}
		}
	}
	cc.Close()
	for _, p := range pools {
		if n := p.Stats().Bytes; n > 64<<10 { // the server's connection may not have ended
			t.Errorf("%d bytes are lent", n)
		}
	}
}

// has reports whether b is in a buffer that was left to the program.
func (p *largest) has(b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := range p.forgot {
		if liesIn(b, at, p.forgot[at]) {
			return true
		}
	}
	return false
}

// liesIn reports whether b begins in the size bytes at p.
func liesIn(b []byte, p *byte, size int) bool {
	off := uintptr(unsafe.Pointer(&b[0])) - uintptr(unsafe.Pointer(p))
	return off < uintptr(size)
}
