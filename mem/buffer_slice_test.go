// SPDX-License-Identifier: Apache-2.0

package mem_test

import (
	"testing"

	"google.golang.org/grpc/mem"
)

func TestBufferSlice(t *testing.T) {
	pool := newLending(t)
	for _, parts := range [][]string{nil, {""}, {"hello"}, {"he", "llo"}, {"", "h", "", "ello", ""}} {
		s := pool.slice(parts...)
		want := ""
		for _, p := range parts {
			want += p
		}
		if s.Len() != len(want) {
			t.Errorf("%q: length %d", parts, s.Len())
		}
		got := s.Materialize()
		if string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%q: materialized %q", parts, got)
		}
		for size := range 8 {
			dst := make([]byte, size)
			n := s.CopyTo(dst)
			if n != min(size, len(want)) || string(dst[:n]) != want[:n] {
				t.Errorf("%q: copied %q", parts, dst[:n])
			}
		}
		s.Ref()
		s.Free()
		pool.want(t, int64(len(parts)))
		s.Free()
		pool.want(t, 0)
	}
}

func TestMaterializeToBuffer(t *testing.T) {
	pool := newLending(t)
	for _, parts := range [][]string{nil, {""}, {"", ""}, {"hello"}, {"he", "llo"}, {"", "hello", ""}} {
		for _, into := range []mem.BufferPool{pool, nil} {
			s := pool.slice(parts...)
			want := string(s.Materialize())
			b := s.MaterializeToBuffer(into)
			s.Free() // b does not depend on it
			wantBytes(t, "materialized", b, want)
			b.Free()
			pool.want(t, 0)
		}
	}
}

func TestMaterializeToBufferDoesNotCopyOne(t *testing.T) {
	pool := newLending(t)
	s := pool.slice("hello")
	b := s.MaterializeToBuffer(pool)
	if b != s[0] {
		t.Error("another Buffer")
	}
	b.Free()
	s.Free()
}
