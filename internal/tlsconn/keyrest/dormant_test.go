// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package keyrest

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// The keys of RFC 8448, section 3, "write traffic keys for application data" of the server.
func TestDormantKey(t *testing.T) {
	secret, _ := hex.DecodeString("a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643")
	key, _ := hex.DecodeString("9f02283b6c9c07efc26bb9f2ac92e356")
	iv, _ := hex.DecodeString("cf782b88dd83549aadf1e984")
	d := newDormant(secret, [nonceSize]byte(iv))
	if d == nil || !bytes.Equal(d.key, key) {
		t.Fatalf("%+v", d)
	}
	if d.NonceSize() != d.awake().NonceSize() || d.Overhead() != d.awake().Overhead() {
		t.Error("other sizes than AES-GCM has")
	}
	iv[3]++
	if d := newDormant(secret, [nonceSize]byte(iv)); d != nil {
		t.Error("the IV is not that of the secret")
	}
	if d := newDormant(secret[1:], [nonceSize]byte(iv)); d != nil {
		t.Error("no hash is that long")
	}
}

// What it takes to wake a half up.
func BenchmarkAwake(b *testing.B) {
	d := &dormant{key: make([]byte, 16)}
	b.ReportAllocs()
	for b.Loop() {
		d.gcm = nil
		d.awake()
	}
}
