// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"bytes"
	"crypto/tls"
	"reflect"
	"sync"
	"unsafe"

	"google.golang.org/grpc/internal/readyreader"
)

// The part of this package that reaches into tls.Conn.

// buffers are the three fields of a tls.Conn that hold on to memory. They belong
// to whoever is in tls.Conn.Read; nothing else touches them after the handshake.
type buffers struct {
	raw   *bytes.Buffer // ciphertext, from the beginning of a record
	input *bytes.Reader // plaintext of the last record, in raw's memory
	hand  *bytes.Buffer // handshake messages
}

// places are where the fields are.
type places struct{ raw, input, hand uintptr }

// offsets are those of tls.Conn. They are valid if findOffsets says so.
var offsets places

var findOffsets = sync.OnceValue(func() (ok bool) {
	offsets, ok = placesIn(reflect.TypeFor[tls.Conn]())
	return ok
})

// placesIn finds the fields in a type, if they are there as tls.Conn is known to have them.
func placesIn(conn reflect.Type) (p places, ok bool) {
	ok = offsetsIn(conn,
		place{"rawInput", reflect.TypeFor[bytes.Buffer](), &p.raw},
		place{"input", reflect.TypeFor[bytes.Reader](), &p.input},
		place{"hand", reflect.TypeFor[bytes.Buffer](), &p.hand})
	return p, ok
}

// place is a field that is looked for.
type place struct {
	name string
	typ  reflect.Type
	at   *uintptr // is set to its offset
}

// offsetsIn finds fields in a type, and reports whether it has all of them itself.
func offsetsIn(typ reflect.Type, wanted ...place) bool {
	for _, want := range wanted {
		f, ok := typ.FieldByName(want.name)
		if !ok || f.Type != want.typ || len(f.Index) != 1 {
			return false
		}
		*want.at = f.Offset
	}
	return true
}

func buffersOf(c *tls.Conn) buffers {
	p := unsafe.Pointer(c)
	return buffers{
		raw:   (*bytes.Buffer)(unsafe.Add(p, offsets.raw)),
		input: (*bytes.Reader)(unsafe.Add(p, offsets.input)),
		hand:  (*bytes.Buffer)(unsafe.Add(p, offsets.hand)),
	}
}

// holdsRecord reports whether c can go on without more ciphertext.
func holdsRecord(c *tls.Conn) bool {
	b := buffersOf(c)
	if b.input.Len() > 0 {
		return true
	}
	raw := b.raw.Bytes()
	if len(raw) < recordHeader {
		return false
	}
	n := int(raw[3])<<8 | int(raw[4])
	return n > maxRecord || len(raw) >= recordHeader+n // too long a record is for tls.Conn to refuse
}

// feed makes the ciphertext in hand what t holds.
func feed(t *tls.Conn, in *readyreader.Stock) { *buffersOf(t).raw = *bytes.NewBuffer(in.Bytes()) }

// recall makes the ciphertext in hand what t has left of it. What t has read itself, as it does
// during the handshake, may be in memory of its own.
func recall(t *tls.Conn, in *readyreader.Stock) {
	left := buffersOf(t).raw.Bytes()
	if in.Keep(left) {
		return
	}
	buf := in.Pool.Get(len(left))
	in.Set(buf, copy(*buf, left))
}

// top adds what can be read without waiting to the part of a record that is in a buffer of
// size bytes. It returns ErrWouldBlock if there is nothing to read, or no such buffer.
func top(t *tls.Conn, in *readyreader.Stock, from readyreader.InPlaceReader, size int) error {
	recall(t, in)
	err := in.Extend(from, size)
	feed(t, in)
	return err
}

// settle gives the buffers back if they are empty.
func settle(t *tls.Conn, in *readyreader.Stock) {
	if release(buffersOf(t)) {
		in.Drop()
	}
}

// stash moves the part of a record that has arrived to memory of its own length.
func stash(t *tls.Conn, in *readyreader.Stock) {
	settle(t, in)
	recall(t, in)
	part := in.Len()
	in.Settle(part, part)
	feed(t, in)
}

// forget takes all input from t.
func forget(t *tls.Conn) {
	b := buffersOf(t)
	*b.raw, *b.input, *b.hand = bytes.Buffer{}, bytes.Reader{}, bytes.Buffer{}
}

// isDrained reports whether nothing is in b.
func isDrained(b buffers) bool {
	return b.input.Len() == 0 && b.raw.Len() == 0 && b.hand.Len() == 0
}

// release drops what of b is empty, and reports whether no ciphertext is left.
func release(b buffers) bool {
	if b.hand.Len() == 0 {
		*b.hand = bytes.Buffer{}
	}
	if b.input.Len() > 0 {
		return false
	}
	*b.input = bytes.Reader{} // it keeps raw's memory alive
	if b.raw.Len() > 0 {
		return false
	}
	*b.raw = bytes.Buffer{}
	return true
}
