// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"io"
	"net"
	"testing"

	"google.golang.org/grpc/mem"
)

// Connections of programs may have methods that are called as ours are, and do something else.
type (
	unrelatedWrite struct{ net.Conn }
	unrelatedRead  struct{ net.Conn }
	unrelatedCan   struct{ net.Conn }
	unrelatedOf    struct{ net.Conn }
)

func (unrelatedWrite) TryWrite([]byte) bool               { panic("called") }
func (unrelatedRead) ReadOnReady([]byte) (int, error)     { panic("called") }
func (unrelatedRead) TryRead([]byte) (int, error)         { panic("called") }
func (unrelatedCan) Can() bool                            { panic("called") }
func (unrelatedCan) RawConn() any                         { panic("called") }
func (unrelatedOf) ReadsOf() string                       { panic("called") }
func (unrelatedOf) WritesOf() string                      { panic("called") }
func (unrelatedOf) CountRead(string)                      { panic("called") }
func (unrelatedOf) CountWritten(string)                   { panic("called") }
func (unrelatedOf) NetConn() string                       { panic("called") }
func (unrelatedOf) ReadOnReady(int, any) (*[]byte, error) { panic("called") }
func (unrelatedWrite) CloseWrite() bool                   { panic("called") }
func (unrelatedWrite) WhyNot(int) string                  { panic("called") }

// A connection with methods of other meanings is read and written as if it had none.
func TestUnrelatedMethods(t *testing.T) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"writes":  func(c net.Conn) net.Conn { return unrelatedWrite{c} },
		"reads":   func(c net.Conn) net.Conn { return unrelatedRead{c} },
		"can":     func(c net.Conn) net.Conn { return unrelatedCan{c} },
		"of":      func(c net.Conn) net.Conn { return unrelatedOf{c} },
		"several": func(c net.Conn) net.Conn { return unrelatedOf{unrelatedCan{unrelatedRead{unrelatedWrite{c}}}} },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := connPair(t, "tcp")
			s := NewSocket(wrap(a))
			rd := New(s, Options{Pool: mem.DefaultBufferPool(), Size: 1 << 10, Pooled: true})
			mustWrite(t, b, "x")
			if p, err := rd.Peek(1); string(p) != "x" || err != nil {
				t.Errorf("read %q, %v", p, err)
			}
			if _, err := rd.Discard(1); err != nil {
				t.Error(err)
			}
			if n, err := s.Write([]byte("y")); n != 1 || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
			if p := make([]byte, 1); !fills(b, p) || p[0] != 'y' {
				t.Errorf("%q arrived", p)
			}
		})
	}
}

func fills(c net.Conn, p []byte) bool {
	_, err := io.ReadFull(c, p)
	return err == nil
}
