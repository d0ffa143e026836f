// SPDX-License-Identifier: Apache-2.0

package tlsbuf

import "bytes"

// RFC 8446 section 5.1: a record's header, whose last two octets are its length.
const (
	recordHeader = 5
	// maxRecord is more than any record's length says: RFC 5246 section 6.2.3
	// allows 2^14+2048, RFC 8446 section 5.2 less.
	maxRecord = 16<<10 + 2048
)

// HoldsRecord reports whether tls.Conn can go on without more ciphertext.
func (b Buffers) HoldsRecord() bool {
	if b.Input.Len() > 0 {
		return true
	}
	raw := b.Raw.Bytes()
	if len(raw) < recordHeader {
		return false
	}
	n := int(raw[3])<<8 | int(raw[4])
	return n > maxRecord || len(raw) >= recordHeader+n // too long a record is for tls.Conn to refuse
}

// Feed makes p the ciphertext that tls.Conn holds.
func (b Buffers) Feed(p []byte) { *b.Raw = *bytes.NewBuffer(p) }

// Release drops the buffers of b that are empty, and reports whether no ciphertext is left.
func (b Buffers) Release() bool {
	if b.Hand.Len() == 0 {
		*b.Hand = bytes.Buffer{}
	}
	if b.Input.Len() > 0 {
		return false
	}
	*b.Input = bytes.Reader{} // it keeps Raw's memory alive
	if b.Raw.Len() > 0 {
		return false
	}
	*b.Raw = bytes.Buffer{}
	return true
}

// Unfinished returns the memory, in bytes, of the part of a handshake message that whole records have brought.
func (b Buffers) Unfinished() int {
	if b.Hand.Len() == 0 {
		return 0 // the memory of what came before stays with tls.Conn, or Release takes it
	}
	return b.Hand.Cap()
}

// Drop forgets all of b.
func (b Buffers) Drop() { *b.Raw, *b.Input, *b.Hand = bytes.Buffer{}, bytes.Reader{}, bytes.Buffer{} }
