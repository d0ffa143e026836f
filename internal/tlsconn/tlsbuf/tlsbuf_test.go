// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsbuf

import (
	"bytes"
	"crypto/tls"
	"reflect"
	"testing"
)

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
