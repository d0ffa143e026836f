// SPDX-License-Identifier: Apache-2.0

package attacker

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net"
	"sync"
)

// Types of TLS records (RFC 8446, 5.1).
const (
	RecordAlert       byte = 21
	RecordHandshake   byte = 22
	RecordApplication byte = 23
)

// maxPlain is the most that a record carries.
const maxPlain = 16 << 10

// records is a TLS 1.3 connection whose records are made here, so that they may be anything
// (RFC 8446, 5.2). crypto/tls does the handshake, and reads.
type records struct {
	*tls.Conn
	raw net.Conn

	mu     sync.Mutex
	hash   func() hash.Hash
	keyLen int
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

// keyLog is where crypto/tls says its secrets, in the format of NSS: a line each, of a label,
// the client's random, and the secret.
type keyLog struct{ bytes.Buffer }

func (l *keyLog) secret(label string) ([]byte, error) {
	for line := range bytes.Lines(l.Bytes()) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == label {
			return hex.AppendDecode(nil, f[2])
		}
	}
	return nil, errors.New("crypto/tls said no " + label + ": this is not TLS 1.3")
}

// takeOver makes the records of tc from here on. Nothing was written to it since the
// handshake.
func takeOver(tc *tls.Conn, raw net.Conn, log *keyLog, label string) (*records, error) {
	secret, err := log.secret(label)
	if err != nil {
		return nil, err
	}
	r := &records{Conn: tc, raw: raw}
	switch suite := tc.ConnectionState().CipherSuite; suite {
	case tls.TLS_AES_128_GCM_SHA256:
		r.hash, r.keyLen = sha256.New, 16
	case tls.TLS_AES_256_GCM_SHA384:
		r.hash, r.keyLen = sha512.New384, 32
	default:
		return nil, fmt.Errorf("records of %s can't be made here", tls.CipherSuiteName(suite))
	}
	return r, r.use(secret)
}

// use makes the keys of a traffic secret (RFC 8446, 7.3).
func (r *records) use(secret []byte) error {
	key, err := r.expand(secret, "key", r.keyLen)
	if err != nil {
		return err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	if r.aead, err = cipher.NewGCM(block); err != nil {
		return err
	}
	r.secret, r.seq = secret, 0
	r.iv, err = r.expand(secret, "iv", r.aead.NonceSize())
	return err
}

// expand is HKDF-Expand-Label without a context (RFC 8446, 7.1).
func (r *records) expand(secret []byte, label string, n int) ([]byte, error) {
	label = "tls13 " + label
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(append(info, byte(len(label))), label...)
	return hkdf.Expand(r.hash, secret, string(append(info, 0)), n)
}

// send writes a record with plain, of at most 16 KB, and pad zeros behind its type. mu is held.
func (r *records) send(typ byte, plain []byte, pad int) error {
	inner := append(append(bytes.Clone(plain), typ), make([]byte, pad)...)
	b := []byte{RecordApplication, 3, 3, 0, 0}
	binary.BigEndian.PutUint16(b[3:], uint16(len(inner)+r.aead.Overhead()))
	nonce := bytes.Clone(r.iv)
	seq := nonce[len(nonce)-8:]
	binary.BigEndian.PutUint64(seq, binary.BigEndian.Uint64(seq)^r.seq)
	r.seq++
	_, err := r.raw.Write(r.aead.Seal(b, nonce, inner, b[:5:5]))
	return err
}

func (r *records) record(typ byte, plain []byte, pad int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.send(typ, plain, pad)
}

// keyUpdate says that the next keys are used from here on (RFC 8446, 4.6.3).
func (r *records) keyUpdate(answer byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.send(RecordHandshake, []byte{24, 0, 0, 1, answer}, 0); err != nil {
		return err
	}
	next, err := r.expand(r.secret, "traffic upd", len(r.secret))
	if err != nil {
		return err
	}
	return r.use(next)
}

// Write implements net.Conn.
func (r *records) Write(p []byte) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(p) {
		k := min(len(p)-n, maxPlain)
		if err := r.send(RecordApplication, p[n:n+k], 0); err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// NetConn is what lies below.
func (r *records) NetConn() net.Conn { return r.raw }

// CloseWrite says close_notify.
func (r *records) CloseWrite() error { return r.record(RecordAlert, []byte{1, 0}, 0) }

// Close implements net.Conn, without a word.
func (r *records) Close() error { return r.raw.Close() }
