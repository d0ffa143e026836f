// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"bytes"
	"crypto/tls"
	"reflect"
	"testing"
)

// If this fails the running version of Go has another tls.Conn: idle connections
// then hold its buffers until layout.go is adapted.
func TestReleasable(t *testing.T) {
	if err := selfTest(); err != nil {
		t.Fatal(err)
	}
}

// What is not laid out as tls.Conn is known to be is left alone.
func TestOtherLayouts(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   reflect.Type
		want bool
	}{
		{"tls.Conn", reflect.TypeFor[tls.Conn](), true},
		{"others before them", reflect.TypeFor[struct {
			other    int
			hand     bytes.Buffer
			rawInput bytes.Buffer
			input    bytes.Reader
		}](), true},
		{"one lacks", reflect.TypeFor[struct {
			rawInput bytes.Buffer
			hand     bytes.Buffer
		}](), false},
		{"another type", reflect.TypeFor[struct {
			rawInput bytes.Buffer
			input    bytes.Buffer
			hand     bytes.Buffer
		}](), false},
		{"a pointer", reflect.TypeFor[struct {
			rawInput *bytes.Buffer
			input    bytes.Reader
			hand     bytes.Buffer
		}](), false},
		{"in a struct of their own", reflect.TypeFor[struct{ tls.Conn }](), false},
	} {
		if p, ok := placesIn(tt.of); ok != tt.want {
			t.Errorf("%s: %+v, %v", tt.name, p, ok)
		}
	}
}

func BenchmarkSelfTest(b *testing.B) {
	for b.Loop() {
		if err := selfTest(); err != nil {
			b.Fatal(err)
		}
	}
}
