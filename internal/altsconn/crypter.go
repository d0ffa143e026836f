// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// The record protocols, by the names they have in a handshake.
const (
	// AES128GCM keeps one key for the whole connection.
	AES128GCM = "ALTSRP_GCM_AES128"
	// AES128GCMRekey derives a new key every 65,536 records.
	AES128GCMRekey = "ALTSRP_GCM_AES128_REKEY"
)

// Sizes in bytes.
const (
	aesKeySize = 16
	kdfKeySize = 32
	nonceSize  = 12
	tagSize    = 16
)

// Errors that end a connection.
var (
	// ErrCounterExhausted says that a direction has used up its record numbers,
	// and with them the nonces of its key.
	ErrCounterExhausted = errors.New("alts: record counter exhausted")
	// ErrAuth says that a record was not sealed by the peer with the right key
	// as the next one, or was changed on the way.
	ErrAuth = errors.New("alts: record authentication failed")
)

// KeySize returns how many bytes of key the record protocol takes, or 0 for one that this package doesn't
// know.
func KeySize(protocol string) int {
	switch protocol {
	case AES128GCM:
		return aesKeySize
	case AES128GCMRekey:
		return kdfKeySize + nonceSize
	}
	return 0
}

// Side says which end of the connection this is. The two directions share their
// keys and differ in their nonces.
type Side byte

// The sides.
const (
	Client Side = iota
	Server
)

// crypter is one direction: its key and the number of its next record.
type crypter struct {
	aead  cipher.AEAD
	keys  *schedule // nil: the key stays
	epoch uint64    // that aead is for
	next  uint64    // number of the next record
	last  uint64    // the greatest number that may be used
	spent bool      // last was used
	top   byte      // the nonce's last byte, which tells the directions apart
	// nonce is scratch for a call; it is here because it would escape from a stack.
	nonce [nonceSize]byte
}

// serverBit marks the records that the server seals.
const serverBit = 0x80

// newCrypters returns the two directions, named after the side that seals them. key must have exactly
// KeySize(protocol) bytes, and is copied. Both directions share one cipher until one of them changes its
// key: the cipher is most of the memory that a connection takes.
func newCrypters(protocol string, key []byte) (client, server *crypter, err error) {
	if n := KeySize(protocol); n == 0 {
		return nil, nil, fmt.Errorf("alts: unknown record protocol %q", protocol)
	} else if len(key) != n {
		return nil, nil, fmt.Errorf("alts: the key for %s has %d bytes, want %d", protocol, len(key), n)
	}
	c := crypter{last: 1<<40 - 1} // five bytes of the nonce are the counter
	if protocol == AES128GCM {
		c.aead = newAEAD(key)
	} else {
		c.last = 1<<64 - 1 // eight bytes are the counter
		c.keys = &schedule{}
		copy(c.keys.kdfKey[:], key)
		copy(c.keys.mask[:], key[kdfKeySize:])
		c.aead = c.keys.derive(0)
	}
	s := c
	s.top = serverBit
	return &c, &s, nil
}

// seal appends p, sealed as the next record, to dst. p must not overlap the
// room behind dst, unless it begins exactly there.
func (c *crypter) seal(dst, p []byte) ([]byte, error) {
	if err := c.advance(); err != nil {
		return dst, err
	}
	return c.aead.Seal(dst, c.nonce[:], p, nil), nil
}

// open appends the plaintext of the next record to dst. The same rule about
// overlap holds.
func (c *crypter) open(dst, sealed []byte) ([]byte, error) {
	if err := c.advance(); err != nil {
		return dst, err
	}
	p, err := c.aead.Open(dst, c.nonce[:], sealed, nil)
	if err != nil {
		return dst, ErrAuth
	}
	return p, nil
}

// advance makes nonce and aead those of the next record and counts it.
func (c *crypter) advance() error {
	if c.spent {
		return ErrCounterExhausted
	}
	n := c.next
	binary.LittleEndian.PutUint64(c.nonce[:8], n)
	clear(c.nonce[8:])
	c.nonce[nonceSize-1] = c.top
	if c.keys != nil {
		if e := epochOf(n); e != c.epoch {
			c.aead, c.epoch = c.keys.derive(e), e
		}
		for i, m := range c.keys.mask {
			c.nonce[i] ^= m
		}
	}
	c.spent = n == c.last
	c.next = n + 1
	return nil
}

// schedule makes the keys of a connection, one for each epoch. It doesn't change.
type schedule struct {
	kdfKey [kdfKeySize]byte
	mask   [nonceSize]byte
}

// epochOf returns the part of a record's number that its key depends on.
func epochOf(n uint64) uint64 { return n >> 16 }

// derive returns the cipher of an epoch. Its key is the beginning of the HMAC-SHA256, under the key
// derivation key, of the epoch's six little-endian bytes and a 1.
func (s *schedule) derive(epoch uint64) cipher.AEAD {
	var msg [8]byte
	binary.LittleEndian.PutUint64(msg[:], epoch)
	msg[6] = 1
	h := hmac.New(sha256.New, s.kdfKey[:])
	h.Write(msg[:7])
	return newAEAD(h.Sum(nil)[:aesKeySize])
}

// newAEAD can't fail: the key's size is right and GCM's standard sizes are used.
func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}
