// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"bytes"
	"math"
	"strings"
	"testing"

	oracle "golang.org/x/net/http2/hpack"
)

// request is what a unary gRPC call sends; the timeout, which is its last field,
// differs from call to call.
var request = [][2]string{
	{":method", "POST"},
	{":scheme", "http"},
	{":path", "/grpc.testing.BenchmarkService/UnaryCall"},
	{":authority", "dns.example.com:50051"},
	{"content-type", "application/grpc"},
	{"user-agent", "grpc-go/1.80.0"},
	{"te", "trailers"},
	{"grpc-timeout", "999850u"},
}

// appendRequest encodes the request, its timeout with ix.
func appendRequest(dst []byte, e *Encoder, ix Indexing) []byte {
	dst = e.Begin(dst)
	last := len(request) - 1
	for i := range request[:last] {
		dst = e.AppendField(dst, request[i][0], request[i][1], Incremental)
	}
	return e.AppendField(dst, request[last][0], request[last][1], ix)
}

func TestAllocs(t *testing.T) {
	var e Encoder
	var d Decoder
	var l List
	long := strings.Repeat("long-name-", 10)
	for _, ix := range []Indexing{WithoutIndexing, Incremental, NeverIndexed} {
		buf := appendRequest(nil, &e, ix)
		if err := d.Decode(buf, &l); err != nil {
			t.Fatal(err)
		}
		block := func() {
			buf = appendRequest(buf[:0], &e, ix)
			buf = e.AppendField(buf, long, long, ix)
			l.Reset(math.MaxUint32)
			if err := d.Decode(buf, &l); err != nil {
				t.Error(err)
			}
		}
		block()
		n := testing.AllocsPerRun(100, block)
		if n != 0 {
			t.Errorf("indexing %d: %v allocations a block, want 0", ix, n)
		}
	}
}

// Tables that are full and evict at each block do not allocate either.
func TestAllocsEvicting(t *testing.T) {
	var e Encoder
	var d Decoder
	var l List
	var value [90]byte
	var buf []byte
	i := 0
	block := func() {
		i++
		value[i%len(value)]++
		buf = e.AppendField(e.Begin(buf[:0]), "x-trace", string(value[:]), Incremental)
		l.Reset(math.MaxUint32)
		if err := d.Decode(buf, &l); err != nil || string(l.Value(0)) != string(value[:]) {
			t.Errorf("%v: value %q, want %q", err, l.Value(0), value)
		}
	}
	for range 300 {
		block()
	}
	// One for the test's own string.
	if n := testing.AllocsPerRun(300, block); n > 1 {
		t.Errorf("%v allocations a block, want 0", n-1)
	}
}

func BenchmarkEncode(b *testing.B) {
	var e Encoder
	buf := appendRequest(nil, &e, WithoutIndexing)
	b.ReportAllocs()
	for b.Loop() {
		buf = appendRequest(buf[:0], &e, WithoutIndexing)
	}
}

func BenchmarkEncodeOracle(b *testing.B) {
	var buf bytes.Buffer
	e := oracle.NewEncoder(&buf)
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		for _, f := range request {
			if err := e.WriteField(oracle.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	var e Encoder
	var d Decoder
	var l List
	l.Reset(math.MaxUint32)
	if err := d.Decode(appendRequest(nil, &e, WithoutIndexing), &l); err != nil {
		b.Fatal(err)
	}
	block := appendRequest(nil, &e, WithoutIndexing)
	b.ReportAllocs()
	for b.Loop() {
		l.Reset(math.MaxUint32)
		if err := d.Decode(block, &l); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeOracle(b *testing.B) {
	var e Encoder
	n := 0
	d := oracle.NewDecoder(4096, func(f oracle.HeaderField) { n += len(f.Value) })
	if _, err := d.Write(appendRequest(nil, &e, WithoutIndexing)); err != nil {
		b.Fatal(err)
	}
	block := appendRequest(nil, &e, WithoutIndexing)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHuffmanDecode(b *testing.B) {
	src := appendHuff(nil, "/grpc.testing.BenchmarkService/UnaryCall")
	var dst []byte
	for b.Loop() {
		var err error
		if dst, err = appendUnhuff(dst[:0], src); err != nil {
			b.Fatal(err)
		}
	}
}
