// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// Codec turns messages into bytes and back. It must be safe for concurrent use.
//
// Deprecated: use the Codec or CodecV2 of package encoding.
type Codec interface {
	// Marshal returns v encoded.
	Marshal(v any) ([]byte, error)
	// Unmarshal decodes data into v. It must not keep data.
	Unmarshal(data []byte, v any) error
	// String is the name of the codec. This module does not use it.
	String() string
}

// codecFor returns the codec that is registered for a content-subtype, or nil if there is none. A
// CodecV2 takes precedence over a Codec. "" stands for protocol buffers.
func codecFor(subtype string) encoding.CodecV2 {
	if subtype == "" {
		subtype = proto.Name
	}
	if c := encoding.GetCodecV2(subtype); c != nil {
		return c
	}
	if c := encoding.GetCodec(subtype); c != nil {
		return codecFromV1(c)
	}
	return nil
}

// codecFromV1 wraps c as a CodecV2. It returns nil if c is nil.
func codecFromV1(c encoding.Codec) encoding.CodecV2 {
	if c == nil {
		return nil
	}
	return sliceCodec{c, c.Name()}
}

// codecFromV0 wraps c as a CodecV2 without a name, and so without a content-subtype. It returns nil if
// c is nil.
func codecFromV0(c Codec) encoding.CodecV2 {
	if c == nil {
		return nil
	}
	return sliceCodec{c, ""}
}

// sliceCodec adapts a codec that works on byte slices to CodecV2.
type sliceCodec struct {
	inner interface {
		Marshal(v any) ([]byte, error)
		Unmarshal(data []byte, v any) error
	}
	name string
}

func (c sliceCodec) Name() string { return c.name }

func (c sliceCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, err := c.inner.Marshal(v)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// UnmarshalOwn gives the codec the memory that the message arrived in. If the message takes much less
// than that memory, UnmarshalOwn gives the codec a copy of the message instead.
func (c sliceCodec) UnmarshalOwn(data []byte, v any) (owned bool, err error) {
	if len(data) < cap(data)-cap(data)/6 {
		return false, c.inner.Unmarshal(bytes.Clone(data), v)
	}
	return true, c.inner.Unmarshal(data[:len(data):len(data)], v)
}

// Unmarshal gives the codec a copy of its own: many codecs keep pieces of data although they must
// not, which does no harm if nobody uses the memory again.
func (c sliceCodec) Unmarshal(data mem.BufferSlice, v any) error {
	return c.inner.Unmarshal(data.Materialize(), v)
}

// Compressor compresses messages. It must be safe for concurrent use.
//
// Deprecated: use package encoding.
type Compressor interface {
	// Do writes p to w, compressed.
	Do(w io.Writer, p []byte) error
	// Type returns the value of grpc-encoding.
	Type() string
}

// Decompressor decompresses messages. It must be safe for concurrent use.
//
// Deprecated: use package encoding.
type Decompressor interface {
	// Do reads r to its end and returns what it holds, decompressed.
	Do(r io.Reader) ([]byte, error)
	// Type returns the value of grpc-encoding.
	Type() string
}

// NewGZIPCompressor returns a Compressor for gzip at its default level.
//
// Deprecated: use package encoding/gzip.
func NewGZIPCompressor() Compressor {
	return newGzipCompressor(gzip.DefaultCompression)
}

// NewGZIPCompressorWithLevel returns a Compressor for gzip at a level from
// gzip.DefaultCompression to gzip.BestCompression. It fails for any other level.
//
// Deprecated: use package encoding/gzip.
func NewGZIPCompressorWithLevel(level int) (Compressor, error) {
	if level < gzip.DefaultCompression || level > gzip.BestCompression {
		return nil, fmt.Errorf("grpc: invalid compression level: %d", level)
	}
	return newGzipCompressor(level), nil
}

// NewGZIPDecompressor returns a Decompressor for gzip.
//
// Deprecated: use package encoding/gzip.
func NewGZIPDecompressor() Decompressor { return &gzipDecompressor{} }

const gzipName = "gzip"

type gzipCompressor struct {
	writers sync.Pool
}

func newGzipCompressor(level int) *gzipCompressor {
	c := &gzipCompressor{}
	c.writers.New = func() any {
		w, err := gzip.NewWriterLevel(io.Discard, level)
		if err != nil {
			panic(err) // the level was checked
		}
		return w
	}
	return c
}

func (c *gzipCompressor) Do(w io.Writer, p []byte) error {
	z := c.writers.Get().(*gzip.Writer)
	defer c.writers.Put(z)
	defer z.Reset(io.Discard) // nothing in the pool may keep w alive
	z.Reset(w)
	if _, err := z.Write(p); err != nil {
		return err
	}
	return z.Close()
}

func (c *gzipCompressor) Type() string { return gzipName }

type gzipDecompressor struct{}

func (*gzipDecompressor) Do(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (*gzipDecompressor) Type() string { return gzipName }

// compressorFrom adapts c to package encoding. It returns nil if c is nil.
func compressorFrom(c Compressor) encoding.Compressor {
	if c == nil {
		return nil
	}
	return wholeCompressor{c: c}
}

// decompressorFrom adapts d to package encoding. It returns nil if d is nil.
func decompressorFrom(d Decompressor) encoding.Compressor {
	if d == nil {
		return nil
	}
	return wholeCompressor{d: d}
}

// wholeCompressor adapts a Compressor or a Decompressor, which work on whole messages, to
// encoding.Compressor, which works on streams. Exactly one of its fields is set.
type wholeCompressor struct {
	c Compressor
	d Decompressor
}

var errOneWay = errors.New("grpc: a Compressor can't decompress, nor a Decompressor compress")

func (x wholeCompressor) Name() string {
	if x.c != nil {
		return x.c.Type()
	}
	return x.d.Type()
}

func (x wholeCompressor) Compress(w io.Writer) (io.WriteCloser, error) {
	if x.c == nil {
		return nil, errOneWay
	}
	return &wholeWriter{c: x.c, to: w}, nil
}

func (x wholeCompressor) Decompress(r io.Reader) (io.Reader, error) {
	switch x.d.(type) {
	case nil:
		return nil, errOneWay
	case *gzipDecompressor: // our own is read as a stream, so that no more than the limit is decompressed
		return gzip.NewReader(r)
	}
	b, err := x.d.Do(r)
	if err != nil {
		return nil, err
	}
	return bytes.NewReader(b), nil
}

// wholeWriter collects a message until Close, which gives it to a Compressor.
type wholeWriter struct {
	c   Compressor
	to  io.Writer
	buf bytes.Buffer
}

func (w *wholeWriter) Write(p []byte) (int, error) { return w.buf.Write(p) }

func (w *wholeWriter) Close() error { return w.c.Do(w.to, w.buf.Bytes()) }
