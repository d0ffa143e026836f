// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package keyrest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
)

// dormant is AES-GCM under a key. It makes what the algorithm derives from the key, 0.8 KB, when there is a
// record to seal or open, and forgets that when it is told to; the AEAD of crypto/tls keeps it for good.
// The lock of the half that it is in guards it.
type dormant struct {
	key []byte
	gcm cipher.AEAD // nil: to be made
}

// RFC 8446, section 5.3, and RFC 5116, section 5.1.
const (
	nonceSize = 12
	tagSize   = 16
)

// newDormant returns the AEAD of a direction with this traffic secret. It returns nil if iv does not follow
// from the secret, since the cipher suite is then not one of the two with AES-GCM (RFC 8446, section
// B.4); which of the two it is follows from the length of the secret.
func newDormant(secret []byte, iv [nonceSize]byte) *dormant {
	newHash, size := sha256.New, 16
	switch len(secret) {
	case sha256.Size:
	case sha512.Size384:
		newHash, size = sha512.New384, 32
	default:
		return nil
	}
	if got, err := expandLabel(newHash, secret, "iv", nonceSize); err != nil || !bytes.Equal(got, iv[:]) {
		return nil
	}
	key, err := expandLabel(newHash, secret, "key", size)
	if err != nil {
		return nil
	}
	return &dormant{key: key}
}

// expandLabel is HKDF-Expand-Label with an empty context, RFC 8446, section 7.1.
func expandLabel(newHash func() hash.Hash, secret []byte, label string, size int) ([]byte, error) {
	label = "tls13 " + label
	return hkdf.Expand(newHash, secret, string([]byte{0, byte(size), byte(len(label))})+label+"\x00", size)
}

// NonceSize implements cipher.AEAD.
func (d *dormant) NonceSize() int { return nonceSize }

// Overhead implements cipher.AEAD.
func (d *dormant) Overhead() int { return tagSize }

// Seal implements cipher.AEAD.
func (d *dormant) Seal(dst, nonce, plaintext, additional []byte) []byte {
	return d.awake().Seal(dst, nonce, plaintext, additional)
}

// Open implements cipher.AEAD.
func (d *dormant) Open(dst, nonce, ciphertext, additional []byte) ([]byte, error) {
	return d.awake().Open(dst, nonce, ciphertext, additional)
}

func (d *dormant) awake() cipher.AEAD {
	if d.gcm != nil {
		return d.gcm
	}
	block, err := aes.NewCipher(d.key)
	if err == nil {
		d.gcm, err = cipher.NewGCM(block)
	}
	if err != nil {
		panic("keyrest: " + err.Error()) // AES takes keys of these lengths
	}
	return d.gcm
}
