// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package keyrest

import (
	"crypto/cipher"
	"crypto/fips140"
	"crypto/tls"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"google.golang.org/grpc/internal/tlsconn/tlsbuf"
)

// Half is one direction of a tls.Conn. Its cipher and secret are guarded by lock, which
// crypto/tls holds while it seals or opens a record.
type Half struct {
	lock   *sync.Mutex
	cipher *any
	secret *[]byte
}

// halfPlaces are the offsets of the two halves in a tls.Conn, and of the fields in each half.
type halfPlaces struct{ in, out, lock, cipher, secret uintptr }

// halfOffsets are those of tls.Conn. They are valid if findHalves returns true.
var halfOffsets halfPlaces

var findHalves = sync.OnceValue(func() (ok bool) {
	halfOffsets, ok = halvesIn(reflect.TypeFor[tls.Conn]())
	return ok
})

// halvesIn finds the halves in a type, if they are there as tls.Conn is known to have them.
func halvesIn(conn reflect.Type) (p halfPlaces, ok bool) {
	in, hasIn := conn.FieldByName("in")
	out, hasOut := conn.FieldByName("out")
	if !hasIn || !hasOut || in.Type != out.Type || in.Type.Kind() != reflect.Struct || len(in.Index)+len(out.Index) != 2 {
		return halfPlaces{}, false
	}
	p.in, p.out = in.Offset, out.Offset
	ok = tlsbuf.Find(in.Type,
		tlsbuf.Place{Name: "Mutex", Type: reflect.TypeFor[sync.Mutex](), At: &p.lock},
		tlsbuf.Place{Name: "cipher", Type: reflect.TypeFor[any](), At: &p.cipher},
		tlsbuf.Place{Name: "trafficSecret", Type: reflect.TypeFor[[]byte](), At: &p.secret})
	return p, ok
}

// Halves returns the halves of c, once Learn has succeeded.
func Halves(c *tls.Conn) (in, out Half) {
	return halfAt(unsafe.Add(unsafe.Pointer(c), halfOffsets.in)), halfAt(unsafe.Add(unsafe.Pointer(c), halfOffsets.out))
}

func halfAt(p unsafe.Pointer) Half {
	return Half{
		lock:   (*sync.Mutex)(unsafe.Add(p, halfOffsets.lock)),
		cipher: (*any)(unsafe.Add(p, halfOffsets.cipher)),
		secret: (*[]byte)(unsafe.Add(p, halfOffsets.secret)),
	}
}

// maskPlaces are the type of a half's cipher where nonces are masked with an IV, the offsets of its fields,
// and the type of the AEAD in it that is AES-GCM.
type maskPlaces struct {
	typ, gcm reflect.Type
	iv, aead uintptr
}

// masking is what crypto/tls has. Learn finds it.
var masking maskPlaces

// maskIn finds the fields in the type of a cipher, if they are there as is known.
func maskIn(cipherType reflect.Type) (p maskPlaces, ok bool) {
	if cipherType == nil || cipherType.Kind() != reflect.Pointer || cipherType.Elem().Kind() != reflect.Struct {
		return maskPlaces{}, false
	}
	p.typ = cipherType
	ok = tlsbuf.Find(cipherType.Elem(),
		tlsbuf.Place{Name: "nonceMask", Type: reflect.TypeFor[[nonceSize]byte](), At: &p.iv},
		tlsbuf.Place{Name: "aead", Type: reflect.TypeFor[cipher.AEAD](), At: &p.aead})
	return p, ok
}

// masked returns pointers to the IV and the AEAD of h's cipher, nil if that is of another kind. lock is
// held.
func (h Half) masked() (iv *[nonceSize]byte, aead *cipher.AEAD) {
	v := reflect.ValueOf(*h.cipher)
	if !v.IsValid() || v.Type() != masking.typ {
		return nil, nil
	}
	p := v.UnsafePointer()
	return (*[nonceSize]byte)(unsafe.Add(p, masking.iv)), (*cipher.AEAD)(unsafe.Add(p, masking.aead))
}

// Rest makes h hold only its key until there is another record, if its cipher is AES-GCM of TLS 1.3. It
// does nothing while somebody is using h.
func (h Half) Rest() {
	if !h.lock.TryLock() {
		return
	}
	defer h.lock.Unlock()
	iv, aead := h.masked()
	if aead == nil {
		return
	}
	if d, ok := (*aead).(*dormant); ok {
		d.gcm = nil
		return
	}
	if reflect.TypeOf(*aead) != masking.gcm {
		return
	}
	// A new key, by a KeyUpdate perhaps, comes with an AEAD of crypto/tls's.
	if d := newDormant(*h.secret, *iv); d != nil {
		*aead = d
	}
}

// Rests reports whether h holds only its key.
func (h Half) Rests() bool {
	h.lock.Lock()
	defer h.lock.Unlock()
	_, aead := h.masked()
	if aead == nil {
		return false
	}
	d, ok := (*aead).(*dormant)
	return ok && d.gcm == nil
}

// Learn finds out, from a connection of TLS 1.3, whether ciphers are as is known here. It must be called
// once, before anything else of this package.
func Learn(c *tls.Conn) error {
	if !findHalves() {
		return errors.New("tls.Conn has other halves")
	}
	if fips140.Enabled() {
		return errors.New("AES-GCM has to be crypto/tls's own")
	}
	if suite := c.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 && suite != tls.TLS_AES_256_GCM_SHA384 {
		return errors.New("there is another cipher to rest")
	}
	in, _ := Halves(c)
	p, ok := maskIn(reflect.TypeOf(*in.cipher))
	if !ok {
		return errors.New("ciphers of tls.Conn have other fields")
	}
	masking = p
	_, aead := in.masked()
	masking.gcm = reflect.TypeOf(*aead)
	if path := masking.gcm.Elem().PkgPath(); !strings.HasSuffix(path, "/aes/gcm") {
		return fmt.Errorf("AES-GCM is that of %s", path)
	}
	return nil
}
