// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"

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
