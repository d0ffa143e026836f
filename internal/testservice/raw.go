// SPDX-License-Identifier: Apache-2.0

package testservice

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// Raw is a client that writes HTTP/2 frames byte by byte. Of the server's frames it looks only at
// the types.
type Raw struct {
	*net.TCPConn
	t testing.TB
}

// DialRaw connects to a server and sends the connection preface, with empty SETTINGS. The
// connection is closed at the end of the test.
func DialRaw(t testing.TB, addr string) *Raw {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r := &Raw{c.(*net.TCPConn), t}
	r.write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	r.Frame(FrameSettings, 0, 0, nil)
	return r
}

// The types of frames (RFC 9113, section 6).
const (
	FrameData      = 0
	FrameHeaders   = 1
	FrameRSTStream = 3
	FrameSettings  = 4
	FrameGoAway    = 7
)

// Frame writes a frame.
func (r *Raw) Frame(kind, flags byte, stream uint32, payload []byte) {
	r.t.Helper()
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	r.write(append(binary.BigEndian.AppendUint32(head, stream), payload...))
}

func (r *Raw) write(b []byte) {
	r.t.Helper()
	if _, err := r.Write(b); err != nil {
		r.t.Fatal(err)
	}
}

// Begin opens a stream with a request for a gRPC method. It does not end the stream.
func (r *Raw) Begin(stream uint32, method string) {
	r.t.Helper()
	const endHeaders = 4
	text := func(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) }
	block := []byte{0x83, 0x86, 0x44} // POST, http, :path
	block = text(block, method)
	block = text(append(block, 0x41), "a")                    // :authority
	block = text(append(block, 0x40), "content-type")         // a literal field with a new name
	block = text(block, "application/grpc")                   //
	block = text(text(append(block, 0x40), "te"), "trailers") //
	r.Frame(FrameHeaders, endHeaders, stream, block)
}

// Until reads frames until one of a type has come, and returns the payload of that frame.
func (r *Raw) Until(kind byte) []byte {
	r.t.Helper()
	_ = r.SetReadDeadline(time.Now().Add(time.Minute)) // of an open socket
	head := make([]byte, 9)
	for {
		if _, err := io.ReadFull(r, head); err != nil {
			r.t.Fatalf("waiting for a frame of type %d: %v", kind, err)
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(r, payload); err != nil {
			r.t.Fatal(err)
		}
		if head[3] == kind {
			return payload
		}
	}
}

// Closed reads until the server has closed the connection.
func (r *Raw) Closed() {
	r.t.Helper()
	_ = r.SetReadDeadline(time.Now().Add(time.Minute)) // of an open socket
	if _, err := io.Copy(io.Discard, r); errors.Is(err, os.ErrDeadlineExceeded) {
		r.t.Fatal("the connection is not closed")
	}
}
