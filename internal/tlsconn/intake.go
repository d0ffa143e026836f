// SPDX-License-Identifier: Apache-2.0

package tlsconn

import "google.golang.org/grpc/mem"

// intake is the ciphertext that was read and not yet decrypted, in a lent buffer.
//
// With Conn.release the buffer is also that of tls.Conn, which knows what of it
// is left; r is 0, and w is not, only while the buffer holds nothing but the first
// w bytes of a record and is no longer than that. Without, bytes [r:w] are what
// tls.Conn has not copied yet.
type intake struct {
	buf  *[]byte
	r, w int
	end  error // what follows the last byte
	// dry says that what is in hand yields no plaintext, as far as is known.
	dry bool

	lender lender
}

func (in *intake) put(pool mem.BufferPool) {
	if in.buf != nil {
		pool.Put(in.buf)
	}
	in.buf, in.r, in.w = nil, 0, 0
}

// lender is the pool for one read of ciphertext: it lends a buffer without its
// first bytes, which are for the part of a record that is there already.
type lender struct {
	pool  mem.BufferPool
	skip  int
	whole *[]byte
	rest  []byte
}

// Get implements mem.BufferPool. The length is not the reader's choice.
func (l *lender) Get(int) *[]byte {
	l.whole = l.pool.Get(cipherSize)
	l.rest = (*l.whole)[l.skip:]
	return &l.rest
}

// Put implements mem.BufferPool.
func (l *lender) Put(*[]byte) {
	l.pool.Put(l.whole)
	l.whole, l.rest = nil, nil
}
