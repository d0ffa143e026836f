// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

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
)

// half is one direction of a tls.Conn. Its cipher and secret are guarded by lock, which
// crypto/tls holds while it seals or opens a record.
type half struct {
	lock   *sync.Mutex
	cipher *any
	secret *[]byte
}

// halfPlaces are where the two halves are in a tls.Conn, and the fields in each.
type halfPlaces struct{ in, out, lock, cipher, secret uintptr }

// halfOffsets are those of tls.Conn. They are valid if findHalves says so.
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
	ok = offsetsIn(in.Type,
		place{"Mutex", reflect.TypeFor[sync.Mutex](), &p.lock},
		place{"cipher", reflect.TypeFor[any](), &p.cipher},
		place{"trafficSecret", reflect.TypeFor[[]byte](), &p.secret})
	return p, ok
}

// halvesOf returns the halves of c.
func halvesOf(c *tls.Conn) (in, out half) {
	return halfAt(unsafe.Add(unsafe.Pointer(c), halfOffsets.in)), halfAt(unsafe.Add(unsafe.Pointer(c), halfOffsets.out))
}

func halfAt(p unsafe.Pointer) half {
	return half{
		lock:   (*sync.Mutex)(unsafe.Add(p, halfOffsets.lock)),
		cipher: (*any)(unsafe.Add(p, halfOffsets.cipher)),
		secret: (*[]byte)(unsafe.Add(p, halfOffsets.secret)),
	}
}

// maskPlaces are the type that a half's cipher has where nonces are masked with an IV, where its
// fields are, and the type of the AEAD in it that is AES-GCM.
type maskPlaces struct {
	typ, gcm reflect.Type
	iv, aead uintptr
}

// masking is that of crypto/tls. restable finds it, and it is valid if that says so.
var masking maskPlaces

// maskIn finds the fields in the type of a cipher, if they are there as is known.
func maskIn(cipherType reflect.Type) (p maskPlaces, ok bool) {
	if cipherType == nil || cipherType.Kind() != reflect.Pointer || cipherType.Elem().Kind() != reflect.Struct {
		return maskPlaces{}, false
	}
	p.typ = cipherType
	ok = offsetsIn(cipherType.Elem(),
		place{"nonceMask", reflect.TypeFor[[nonceSize]byte](), &p.iv},
		place{"aead", reflect.TypeFor[cipher.AEAD](), &p.aead})
	return p, ok
}

// masked returns the IV and the AEAD of h's cipher, nil if that is another kind. lock is held.
func (h half) masked() (iv *[nonceSize]byte, aead *cipher.AEAD) {
	v := reflect.ValueOf(*h.cipher)
	if !v.IsValid() || v.Type() != masking.typ {
		return nil, nil
	}
	p := v.UnsafePointer()
	return (*[nonceSize]byte)(unsafe.Add(p, masking.iv)), (*cipher.AEAD)(unsafe.Add(p, masking.aead))
}

// rest has h hold its key alone until there is another record, if its cipher is AES-GCM of TLS
// 1.3. While somebody is using h it does nothing.
func (h half) rest() {
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

// rests reports whether h holds its key alone.
func (h half) rests() bool {
	h.lock.Lock()
	defer h.lock.Unlock()
	_, aead := h.masked()
	if aead == nil {
		return false
	}
	d, ok := (*aead).(*dormant)
	return ok && d.gcm == nil
}

// rest has c hold its keys alone until there are records again, unless those come now and then:
// see vigil. It is for the reader. What is written meanwhile is not followed by a reader's rest: see
// wrote.
func (c *Conn) rest() {
	if !c.rests {
		return
	}
	if c.keeps() {
		c.intake.left.Store(ready)
		return
	}
	c.intake.left.Store(atRest)
	in, out := halvesOf(c.tls)
	in.rest()
	out.rest()
}

// keeps reports whether the ciphers of c are kept now that its reader leaves it alone.
func (c *Conn) keeps() bool {
	in := &c.intake
	switch {
	case in.vigil != nil:
		in.vigil.Touch()
	case in.wakes < wakesBefore:
		return false
	default:
		in.vigil = &vigil{over: c.quiet}
		vigils.Add(&in.vigil.Entry, in.vigil)
	}
	return true
}

// quiet follows a vigil in which nothing has come for a while. The caller has nothing locked.
func (c *Conn) quiet(v *vigil) {
	if !c.rmu.TryLock() { // somebody reads
		vigils.Add(&v.Entry, v)
		return
	}
	defer c.rmu.Unlock()
	if c.intake.vigil != v {
		return // closed
	}
	c.intake.endVigil()
	if c.intake.left.Load() == ready {
		c.rest()
	}
}

// wrote follows a write.
func (c *Conn) wrote() {
	if c.intake.left.Load() == atRest {
		_, out := halvesOf(c.tls)
		out.rest()
	}
}

// learn finds masking in a connection of TLS 1.3.
func learn(c *tls.Conn) error {
	if !findHalves() {
		return errors.New("tls.Conn has other halves")
	}
	if fips140.Enabled() {
		return errors.New("AES-GCM has to be crypto/tls's own")
	}
	if suite := c.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 && suite != tls.TLS_AES_256_GCM_SHA384 {
		return errors.New("there is another cipher to rest")
	}
	in, _ := halvesOf(c)
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
