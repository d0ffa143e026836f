// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"bytes"
	"crypto/tls"
	"reflect"
	"sync"
	"unsafe"
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

// holdsRecord reports whether tls.Conn can go on without more ciphertext.
func (c *Conn) holdsRecord() bool { return holdsRecord(c.tls) }

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

// feed makes the intake the ciphertext that tls.Conn holds.
func (c *Conn) feed() { *buffersOf(c.tls).raw = *bytes.NewBuffer(c.intake.Bytes()) }

// sync makes the intake what tls.Conn has left of it.
func (c *Conn) sync() {
	left := buffersOf(c.tls).raw.Bytes()
	if used := c.intake.Len() - len(left); used >= 0 {
		c.intake.Skip(used)
		return
	}
	// It was read with the end of the handshake, to memory of tls.Conn's own.
	buf := c.intake.Pool.Get(len(left))
	c.intake.Set(buf, copy(*buf, left))
}

// top adds what can be read without waiting to the part of a record that is in a buffer of
// full size. It returns ErrWouldBlock if there is nothing to read, or no such buffer.
func (c *Conn) top() error {
	c.sync()
	err := c.intake.Extend(c.sock, c.intake.size())
	c.feed()
	return err
}

// settle gives the buffers back if they are empty.
func (c *Conn) settle() {
	if release(buffersOf(c.tls)) {
		c.intake.Drop()
	}
}

// stash moves the part of a record that has arrived to memory of its own length.
func (c *Conn) stash() {
	c.settle()
	c.sync()
	part := c.intake.Len()
	c.intake.Settle(part, part)
	c.feed()
	c.retained.Set(c.intake.Memory())
}

// drop forgets all input.
func (c *Conn) drop() {
	if c.release && c.open.Load() {
		b := buffersOf(c.tls)
		*b.raw, *b.input, *b.hand = bytes.Buffer{}, bytes.Reader{}, bytes.Buffer{}
	}
	c.dropIntake()
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
