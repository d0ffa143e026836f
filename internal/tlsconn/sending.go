// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"crypto/tls"
	"reflect"
	"sync"
	"unsafe"
)

// sending is how a tls.Conn sends. During a handshake it gathers records, for one write. After it
// that can be asked for, too. lock guards the others, once the handshake is over.
type sending struct {
	lock    *sync.Mutex
	gathers *bool
	buf     *[]byte // what is gathered
}

// sendingPlaces are where those are in a tls.Conn, and its config.
type sendingPlaces struct{ gathers, buf, config uintptr }

// sendingOffsets are those of tls.Conn. They are valid if findSending says so.
var sendingOffsets sendingPlaces

var findSending = sync.OnceValue(func() bool {
	p := &sendingOffsets
	return findHalves() && offsetsIn(reflect.TypeFor[tls.Conn](),
		place{"buffering", reflect.TypeFor[bool](), &p.gathers},
		place{"sendBuf", reflect.TypeFor[[]byte](), &p.buf},
		place{"config", reflect.TypeFor[*tls.Config](), &p.config})
})

func sendingOf(c *tls.Conn) sending {
	_, out := halvesOf(c)
	return sending{
		lock:    out.lock,
		gathers: (*bool)(unsafe.Add(unsafe.Pointer(c), sendingOffsets.gathers)),
		buf:     (*[]byte)(unsafe.Add(unsafe.Pointer(c), sendingOffsets.buf)),
	}
}

// renegotiates reports whether c, whose handshake is over, may have to shake hands again.
func renegotiates(c *tls.Conn) bool {
	config := *(**tls.Config)(unsafe.Add(unsafe.Pointer(c), sendingOffsets.config))
	return config != nil && config.Renegotiation != tls.RenegotiateNever
}
