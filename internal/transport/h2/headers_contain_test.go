// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"bytes"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// panickyKinds has the decoder panic at fields of that name.
var panickyKinds = hpack.NewKinds(func(name []byte) uint8 {
	if string(name) == "x-panic" {
		panic("at that name")
	}
	return 0
}, nil)

// panics keeps the last one.
type panics struct {
	value any
	stack []byte
}

func (p *panics) Panicked(value any, stack []byte) { p.value, p.stack = value, stack }

// TestPanicEndsConnection: a panic while a block is decoded, whole or in parts, ends that
// connection alone.
func TestPanicEndsConnection(t *testing.T) {
	for name, split := range map[string]bool{"whole": false, "in parts": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := new(panics)
				cfg := peerConfig{Config: protocol.Config{Kinds: panickyKinds, Panics: log}}
				other := newPeer(t, protocol.Server, cfg)
				p := newPeer(t, protocol.Server, cfg)
				block := p.fieldBlock(append(request, "x-panic", "1")...)
				if split {
					p.send(raw(fHeaders, 0, 1, block[:4]), raw(fContinuation, 0, 1, block[4:9]), raw(fContinuation, 4, 1, block[9:]))
				} else {
					p.send(raw(fHeaders, 4, 1, block))
				}
				p.want(broken("0", "INTERNAL_ERROR")...)
				if log.value != "at that name" || !bytes.Contains(log.stack, []byte("contain_test.go")) {
					t.Errorf("told of %v, at %s", log.value, log.stack)
				}
				other.send(other.request(1, true), ping("12345678"))
				other.want("PING ack 12345678")
			})
		})
	}
}

// TestPanicWithoutLog: nobody would hear of it.
func TestPanicWithoutLog(t *testing.T) {
	defer func() {
		if v := recover(); v != "out" {
			t.Errorf("recovered %v", v)
		}
	}()
	func() (err error) {
		defer protocol.Contain(&err, nil)
		panic("out")
	}()
	t.Error("went on")
}
