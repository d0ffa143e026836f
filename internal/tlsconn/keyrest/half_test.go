// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package keyrest

import (
	"crypto/cipher"
	"crypto/tls"
	"reflect"
	"sync"
	"testing"
)

// What is not laid out as crypto/tls is known to do it is left alone.
func TestOtherHalves(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   reflect.Type
		want bool
	}{
		{"tls.Conn", reflect.TypeFor[tls.Conn](), true},
		{"one lacks", reflect.TypeFor[struct{ in tls.Conn }](), false},
		{"two kinds", reflect.TypeFor[struct {
			in  sync.Mutex
			out sync.RWMutex
		}](), false},
		{"pointers", reflect.TypeFor[struct{ in, out *tls.Conn }](), false},
		{"without a lock", reflect.TypeFor[struct {
			in, out struct {
				cipher        any
				trafficSecret []byte
			}
		}](), false},
		{"another type", reflect.TypeFor[struct {
			in, out struct {
				sync.Mutex
				cipher        cipher.AEAD
				trafficSecret []byte
			}
		}](), false},
	} {
		if p, ok := halvesIn(tt.of); ok != tt.want {
			t.Errorf("%s: %+v, %t", tt.name, p, ok)
		}
	}
	for _, tt := range []struct {
		name string
		of   reflect.Type
		want bool
	}{
		{"the same", reflect.TypeFor[*struct {
			nonceMask [nonceSize]byte
			aead      cipher.AEAD
		}](), true},
		{"no cipher", nil, false},
		{"no pointer", reflect.TypeFor[struct{ aead cipher.AEAD }](), false},
		{"no struct", reflect.TypeFor[*int](), false},
		{"another type", reflect.TypeFor[*struct {
			nonceMask []byte
			aead      cipher.AEAD
		}](), false},
	} {
		if p, ok := maskIn(tt.of); ok != tt.want {
			t.Errorf("%s: %+v, %t", tt.name, p, ok)
		}
	}
}
