// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsbuf

import (
	"bytes"
	"crypto/tls"
	"net"
	"reflect"
	"sync"
	"unsafe"
)

// Buffers are the three fields of a tls.Conn that hold on to memory. They belong to the goroutine in
// tls.Conn.Read; nothing else touches them after the handshake.
type Buffers struct {
	Raw   *bytes.Buffer // ciphertext, from the beginning of a record
	Input *bytes.Reader // plaintext of the last record, in Raw's memory
	Hand  *bytes.Buffer // handshake messages
}

// places are the offsets of the fields.
type places struct{ raw, input, hand uintptr }

// offsets are those of tls.Conn. They are valid if Found returns true.
var offsets places

// Found reports whether a tls.Conn has the fields. If not, nothing else here may be called.
var Found = sync.OnceValue(func() (ok bool) {
	offsets, ok = placesIn(reflect.TypeFor[tls.Conn]())
	return ok
})

// placesIn finds the fields in a type, if they are there as tls.Conn is known to have them.
func placesIn(conn reflect.Type) (p places, ok bool) {
	ok = Find(conn,
		Place{Name: "rawInput", Type: reflect.TypeFor[bytes.Buffer](), At: &p.raw},
		Place{Name: "input", Type: reflect.TypeFor[bytes.Reader](), At: &p.input},
		Place{Name: "hand", Type: reflect.TypeFor[bytes.Buffer](), At: &p.hand})
	return p, ok
}

// Place is a field that is looked for.
type Place struct {
	Name string
	Type reflect.Type
	At   *uintptr // is set to its offset
}

// Find looks for fields in a type, and reports whether the type itself has all of them.
func Find(typ reflect.Type, wanted ...Place) bool {
	for _, want := range wanted {
		f, ok := typ.FieldByName(want.Name)
		if !ok || f.Type != want.Type || len(f.Index) != 1 {
			return false
		}
		*want.At = f.Offset
	}
	return true
}

// Of returns the buffers of c.
func Of(c *tls.Conn) Buffers {
	p := unsafe.Pointer(c)
	return Buffers{
		Raw:   (*bytes.Buffer)(unsafe.Add(p, offsets.raw)),
		Input: (*bytes.Reader)(unsafe.Add(p, offsets.input)),
		Hand:  (*bytes.Buffer)(unsafe.Add(p, offsets.hand)),
	}
}

const noOffset = ^uintptr(0)

// connOffset is where tls.Conn has the connection that it runs over.
var connOffset = sync.OnceValue(func() uintptr {
	f, ok := reflect.TypeFor[tls.Conn]().FieldByName("conn")
	if !ok || f.Type != reflect.TypeFor[net.Conn]() || len(f.Index) != 1 {
		return noOffset
	}
	return f.Offset
})

// FoundConn reports whether SetConn may be called.
func FoundConn() bool { return Found() && connOffset() != noOffset }

// SetConn makes nc the connection that c runs over. Nobody may be using c.
func SetConn(c *tls.Conn, nc net.Conn) {
	*(*net.Conn)(unsafe.Add(unsafe.Pointer(c), connOffset())) = nc
}
