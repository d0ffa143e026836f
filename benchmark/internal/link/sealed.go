// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
)

// sealed is a raw connection that does the least that gRPC over ALTS has to: what is
// written is copied, encrypted and sent; what is read is decrypted and copied out.
type sealed struct {
	net.Conn
	aead cipher.AEAD

	in      *bufio.Reader
	head    [lengthSize]byte
	opened  []byte // what is left to read
	opening []byte // the buffer of that
	reads   nonce

	out    []byte
	writes nonce
}

// nonce counts the records of one direction.
type nonce struct {
	side  byte
	count uint64
	bytes [12]byte
}

// The sides, as nonces tell them apart: both have the same key.
const (
	clientSide byte = iota
	serverSide
)

// lengthSize is the size of what stands before a record: its length, with the tag.
const lengthSize = 4

// recordSize is how much a record carries at most. Larger ones leave the caches before
// they are used again, and cost more.
const recordSize = 64 << 10

// newKey makes a key for AES-128.
func newKey() []byte {
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails
	return key
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func newSealed(c net.Conn, aead cipher.AEAD, side byte) *sealed {
	return &sealed{
		Conn: c, aead: aead, in: bufio.NewReader(c),
		reads: nonce{side: 1 - side}, writes: nonce{side: side},
	}
}

// next is good until it is called again.
func (n *nonce) next() []byte {
	n.bytes[0] = n.side
	binary.LittleEndian.PutUint64(n.bytes[4:], n.count)
	n.count++
	return n.bytes[:]
}

// Write sends b in as few records as carry it.
func (s *sealed) Write(b []byte) (int, error) {
	n := 0
	for part := range slices.Chunk(b, recordSize) {
		if err := s.seal(part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// seal sends b as one record.
func (s *sealed) seal(b []byte) error {
	size := len(b) + s.aead.Overhead()
	s.out = append(slices.Grow(s.out[:0], lengthSize+size)[:lengthSize], b...)
	binary.LittleEndian.PutUint32(s.out, uint32(size))
	plain := s.out[lengthSize:]
	s.aead.Seal(plain[:0], s.writes.next(), plain, nil)
	_, err := s.Conn.Write(s.out[:lengthSize+size])
	return err
}

// Read takes from one record at a time.
func (s *sealed) Read(b []byte) (int, error) {
	for len(s.opened) == 0 {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.opened)
	s.opened = s.opened[n:]
	return n, nil
}

func (s *sealed) open() error {
	if _, err := io.ReadFull(s.in, s.head[:]); err != nil {
		return err
	}
	size := int(binary.LittleEndian.Uint32(s.head[:]))
	if size > recordSize+s.aead.Overhead() {
		return fmt.Errorf("a record of %d bytes", size)
	}
	s.opening = slices.Grow(s.opening[:0], size)[:size]
	if _, err := io.ReadFull(s.in, s.opening); err != nil {
		return err
	}
	var err error
	s.opened, err = s.aead.Open(s.opening[:0], s.reads.next(), s.opening, nil)
	return err
}
