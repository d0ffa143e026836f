// SPDX-License-Identifier: Apache-2.0

package link

import (
	"encoding/binary"
	"io"
	"net"

	"google.golang.org/grpc/benchmark/internal/service"
)

// RawHeader is what a client of the raw protocol begins with: how many bytes a message
// has, and whether the server answers each message with another (RawPingPong), only sends
// (RawStream), only reads (RawSink), or answers a request of RawRequest bytes with a message
// (RawReply).
type RawHeader struct {
	Size uint32
	Mode uint32
}

// headerSize is the size of a RawHeader on the wire.
const headerSize = 8

// Modes of RawHeader.
const (
	RawPingPong = iota
	RawStream
	RawSink
	RawReply
)

// RawRequest is how many bytes a request of RawReply has.
const RawRequest = 128

// Bytes is the header on the wire.
func (h RawHeader) Bytes() []byte {
	b := binary.BigEndian.AppendUint32(nil, h.Size)
	return binary.BigEndian.AppendUint32(b, h.Mode)
}

// serveBytes serves each connection without gRPC.
func serveBytes(lis []net.Listener, wrap func(net.Conn) net.Conn, serve func(net.Conn)) {
	for _, l := range lis {
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				if wrap != nil {
					conn = wrap(conn)
				}
				go serve(conn)
			}
		}()
	}
}

// rawConn serves one connection until it breaks.
func rawConn(conn net.Conn, b *service.Bench) {
	defer conn.Close()
	var head [headerSize]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return
	}
	size := binary.BigEndian.Uint32(head[:])
	if size == 0 || size > service.MaxMessage {
		return
	}
	buf := make([]byte, size)
	request := buf
	mode := binary.BigEndian.Uint32(head[4:])
	if mode == RawReply {
		request = make([]byte, RawRequest)
	}
	for {
		if mode != RawStream {
			if _, err := io.ReadFull(conn, request); err != nil {
				return
			}
		}
		if mode != RawSink {
			if _, err := conn.Write(buf); err != nil {
				return
			}
		}
		b.CountOne()
	}
}
