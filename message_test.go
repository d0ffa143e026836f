// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

func testWriter(c encoding.Compressor) *messageWriter {
	return &messageWriter{codec: codecFor(""), compressor: c, max: 1 << 20, pool: mem.DefaultBufferPool()}
}

func testReader(name string) *messageReader {
	return &messageReader{codec: codecFor(""), encoding: name, max: 1 << 20, pool: mem.DefaultBufferPool()}
}

// received is what arrives when out is sent.
func received(out outMessage) transport.Message {
	data := out.payload.Data
	defer data.Free()
	n := data.Len()
	return transport.Message{Data: grpcwire.BytesOf(data.Materialize()), Compressed: out.payload.Compressed, Len: n}
}

func TestMessageRoundTrip(t *testing.T) {
	for name, c := range map[string]encoding.Compressor{
		"":     nil,
		"gzip": encoding.GetCompressor("gzip"),
	} {
		for _, size := range []int{0, 1, 1000, 5000, 200_000} {
			want := strings.Repeat("m", size)
			out, err := testWriter(c).write(&text{Value: want})
			if err != nil {
				t.Fatal(err)
			}
			sizes := out.sizes()
			if out.payload.Compressed != (name != "" && size > 0) {
				t.Errorf("%q, %d bytes: Compressed = %v", name, size, out.payload.Compressed)
			}
			m := received(out)
			var got text
			length, err := testReader(name).read(m, &got)
			if err != nil || got.Value != want || length != sizes.length || m.Len != sizes.wire {
				t.Errorf("%q, %d bytes: got %d bytes, length %d, sizes %v, %v", name, size, len(got.Value), length, sizes, err)
			}
		}
	}
}

func TestMessageNil(t *testing.T) {
	out, err := testWriter(encoding.GetCompressor("gzip")).write(nil)
	if err != nil || out.payload.Compressed || out.payload.Data.Len() != 0 {
		t.Errorf("write(nil) = %v, %v", out, err)
	}
}

// failingCompressor fails where it is told to.
type failingCompressor struct {
	begin, write, end error
	decompress        error
}

func (failingCompressor) Name() string { return "failing" }

func (c failingCompressor) Compress(io.Writer) (io.WriteCloser, error) { return c, c.begin }

func (c failingCompressor) Write(p []byte) (int, error) { return len(p), c.write }

func (c failingCompressor) Close() error { return c.end }

func (c failingCompressor) Decompress(r io.Reader) (io.Reader, error) { return r, c.decompress }

func TestMessageCompressorFails(t *testing.T) {
	bad := errors.New("bad")
	for _, c := range []failingCompressor{{begin: bad}, {write: bad}, {end: bad}} {
		if _, err := testWriter(c).write(&text{Value: "x"}); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "bad") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	r := testReader("failing")
	r.decompressor = failingCompressor{decompress: io.EOF}
	m := transport.Message{Data: grpcwire.BytesOf([]byte("x")), Compressed: true, Len: 1}
	if _, err := r.read(m, new(text)); status.Code(err) != codes.Internal {
		t.Errorf("decompressor: %v", err)
	}
}

func TestMessageReadErrors(t *testing.T) {
	gz := encoding.GetCompressor("gzip")
	for name, test := range map[string]struct {
		encoding   string
		max        int
		server     bool
		size       int
		compressor encoding.Compressor
		code       codes.Code
		text       string
	}{
		"at the limit":         {max: 103, size: 100},
		"over the limit":       {max: 101, size: 100, code: codes.ResourceExhausted, text: "grpc: received message larger than max (102 vs. 101)"},
		"bomb":                 {encoding: "gzip", max: 1000, size: 10_000, compressor: gz, code: codes.ResourceExhausted, text: "grpc: received message after decompression larger than max 1000"},
		"compressed too large": {encoding: "gzip", max: 5, size: 10_000, compressor: gz, code: codes.ResourceExhausted},
		"flag without name":    {max: 1000, size: 100, compressor: gz, code: codes.Internal},
		"identity":             {encoding: "identity", max: 1000, size: 100, compressor: gz, code: codes.Internal},
		"unknown, client":      {encoding: "zip", max: 1000, size: 100, compressor: gz, code: codes.Internal},
		"unknown, server":      {encoding: "zip", max: 1000, size: 100, compressor: gz, server: true, code: codes.Unimplemented},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := testWriter(test.compressor).write(&text{Value: strings.Repeat("x", test.size)})
			if err != nil {
				t.Fatal(err)
			}
			r := testReader(test.encoding)
			r.max, r.server = test.max, test.server
			_, err = r.read(received(out), new(text))
			if status.Code(err) != test.code || test.text != "" && status.Convert(err).Message() != test.text {
				t.Errorf("read: %v", err)
			}
		})
	}
}

// endless is a compressor whose messages never end, and counts what is read of one.
type endless struct {
	encoding.Compressor
	read int
}

func (e *endless) Decompress(io.Reader) (io.Reader, error) { return e, nil }

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	if e.read += len(p); e.read > 64<<20 {
		return 0, io.ErrUnexpectedEOF // or it would take all memory
	}
	return len(p), nil
}

// TestDecompressionStops: of what a message becomes no more is made than one byte beyond the limit.
func TestDecompressionStops(t *testing.T) {
	for _, limit := range []int{0, 1, 1000, 100_000} {
		e := &endless{Compressor: encoding.GetCompressor("gzip")}
		out, err := testWriter(e).write(&text{Value: "x"})
		if err != nil {
			t.Fatal(err)
		}
		r := testReader("gzip")
		r.max, r.decompressor = max(limit, out.payload.Data.Len()), e
		_, err = r.read(received(out), new(text))
		wantCode(t, "read", err, codes.ResourceExhausted)
		if e.read > r.max+1 {
			t.Errorf("%d bytes were decompressed, the limit is %d", e.read, r.max)
		}
	}
}

// TestDecompressorOfTheProgram: one of a program's own has another text for a message over the
// limit, as in the published module.
func TestDecompressorOfTheProgram(t *testing.T) {
	out, err := testWriter(encoding.GetCompressor("gzip")).write(&text{Value: strings.Repeat("x", 5000)})
	if err != nil {
		t.Fatal(err)
	}
	r := testReader("gzip")
	r.max, r.decompressor = 100, decompressorFrom(NewGZIPDecompressor())
	_, err = r.read(received(out), new(text))
	wantCode(t, "read", err, codes.ResourceExhausted, "grpc: message after decompression larger than max (101 vs. 100)")
}

func TestMessageMarshalFails(t *testing.T) {
	if _, err := testWriter(nil).write("no message"); status.Code(err) != codes.Internal {
		t.Errorf("write of a string: %v", err)
	}
	m := transport.Message{Data: grpcwire.BytesOf([]byte("\xff")), Len: 1}
	if _, err := testReader("").read(m, new(text)); status.Code(err) != codes.Internal {
		t.Errorf("read of nonsense: %v", err)
	}
}

// keepingCodec keeps what it decodes.
type keepingCodec struct{ kept *mem.BufferSlice }

func (keepingCodec) Name() string { return "keeping" }

func (keepingCodec) Marshal(any) (mem.BufferSlice, error) { return nil, nil }

func (c keepingCodec) Unmarshal(data mem.BufferSlice, _ any) error {
	data.Ref()
	*c.kept = append(*c.kept, data...)
	return nil
}

// lentPool counts what is out.
type lentPool struct{ out int }

func (l *lentPool) Get(n int) *[]byte {
	l.out++
	return new(make([]byte, n))
}

func (l *lentPool) Put(b *[]byte) {
	l.out--
	clear(*b)
}

// What a codec keeps of a message that was received goes back to its pool with the last reference.
func TestMessageIsKeptByCodec(t *testing.T) {
	for _, size := range []int{0, 1, 104, 105, 1024, 1025, 100_000} {
		pool := &lentPool{}
		var asm grpcwire.Assembler
		asm.Init(new(mem.BufferPool(pool)), size)
		prefix := grpcwire.Prefix(false, uint32(size))
		wire := append(prefix[:], strings.Repeat("k", size)...)
		n, m, complete, err := asm.Take(wire, len(wire))
		if n != len(wire) || !complete || err != nil {
			t.Fatalf("%d bytes: %d taken, %t, %v", size, n, complete, err)
		}
		var kept mem.BufferSlice
		r := messageReader{codec: keepingCodec{&kept}, max: size, pool: pool}
		if length, err := r.read(m, nil); length != size || err != nil {
			t.Errorf("%d bytes: %d, %v", size, length, err)
		}
		if got := kept.Materialize(); string(got) != string(wire[len(prefix):]) {
			t.Errorf("%d bytes: what was kept has changed", size)
		}
		if pool.out > 1 || size > 1024 && pool.out == 0 {
			t.Errorf("%d bytes: %d buffers are out while it is kept", size, pool.out)
		}
		kept.Free()
		if pool.out != 0 {
			t.Errorf("%d bytes: %d buffers are out", size, pool.out)
		}
	}
}

func TestOldCompressors(t *testing.T) {
	if _, err := NewGZIPCompressorWithLevel(10); err == nil {
		t.Error("level 10: no error")
	}
	fast, err := NewGZIPCompressorWithLevel(1)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte(strings.Repeat("message ", 100))
	for _, c := range []Compressor{NewGZIPCompressor(), fast} {
		for range 2 { // the second time from the pool
			var b bytes.Buffer
			if err := c.Do(&b, want); err != nil {
				t.Fatal(err)
			}
			if b.Len() >= len(want) {
				t.Errorf("%d bytes became %d", len(want), b.Len())
			}
			got, err := NewGZIPDecompressor().Do(&b)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("got %q, %v", got, err)
			}
		}
	}
	if _, err := compressorFrom(fast).Decompress(nil); err == nil {
		t.Error("a Compressor decompresses")
	}
	if _, err := decompressorFrom(NewGZIPDecompressor()).Compress(nil); err == nil {
		t.Error("a Decompressor compresses")
	}
	if compressorFrom(nil) != nil || decompressorFrom(nil) != nil || codecFromV1(nil) != nil || codecFromV0(nil) != nil {
		t.Error("nil does not stay nil")
	}
}

func TestDeprecatedErrors(t *testing.T) {
	err := Errorf(codes.NotFound, "no %s", "text")
	if Code(err) != codes.NotFound || ErrorDesc(err) != "no text" {
		t.Errorf("Code = %v, ErrorDesc = %q", Code(err), ErrorDesc(err))
	}
}

func FuzzMessageRead(f *testing.F) {
	for _, c := range []encoding.Compressor{nil, encoding.GetCompressor("gzip")} {
		out, err := testWriter(c).write(&text{Value: "a message"})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(out.payload.Data.Materialize(), c != nil)
		out.payload.Data.Free()
	}
	f.Fuzz(func(t *testing.T, data []byte, compressed bool) {
		r := testReader("gzip")
		r.max = 1000
		m := transport.Message{Data: grpcwire.BytesOf(data), Compressed: compressed, Len: len(data)}
		if length, err := r.read(m, new(text)); err == nil && length > r.max {
			t.Errorf("a message of %d bytes", length)
		}
	})
}

// TestSendSizeFitsPrefix has a compressor make more of a message than its prefix can announce.
func TestSendSizeFitsPrefix(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("no message is as long here")
	}
	pieces := make(mem.BufferSlice, 64)
	part := mem.SliceBuffer(make([]byte, 64<<20))
	for i := range pieces {
		pieces[i] = part
	}
	data := transport.PiecesOf(pieces)
	wantCode(t, "4 GiB", checkSendSize(&data, math.MaxInt), codes.ResourceExhausted)
	data = transport.PiecesOf(pieces[1:])
	if err := checkSendSize(&data, math.MaxInt); err != nil {
		t.Error(err)
	}
}
