// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	oracle "golang.org/x/net/http2/hpack"
)

// field is a header field as the tests compare it.
type field struct{ name, value string }

func (f field) String() string { return fmt.Sprintf("%.60q: %.60q", f.name, f.value) }

func fieldsOf(l *List) []field {
	var fields []field
	for i := range l.Len() {
		fields = append(fields, field{string(l.Name(i)), string(l.Value(i))})
	}
	return fields
}

func oracleFields(hfs []oracle.HeaderField) []field {
	var fields []field
	for _, hf := range hfs {
		fields = append(fields, field{hf.Name, hf.Value})
	}
	return fields
}

func mustDecode(t testing.TB, d *Decoder, block []byte) []field {
	t.Helper()
	var l List
	l.Reset(math.MaxUint32)
	if err := d.Decode(block, &l); err != nil {
		t.Fatalf("Decode(%x) = %v", block, err)
	}
	return fieldsOf(&l)
}

func wantFields(t testing.TB, got, want []field) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("fields\n got %v\nwant %v", got, want)
	}
}

func wantReason(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}
