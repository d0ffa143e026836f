// SPDX-License-Identifier: Apache-2.0

// Package proto has the default codec, for protocol buffers. Importing the package registers it
// under the name "proto".
package proto

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// Name is the content-subtype of protocol buffers.
const Name = "proto"

func init() {
	encoding.RegisterCodecV2(codec{})
}

type codec struct{}

func (codec) Name() string { return Name }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	b, err := c.MarshalWhole(v)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{b}, nil
}

// MarshalWhole is like Marshal, but returns one buffer. It takes the buffer from the pool even for
// a small message: that needs no allocation, while a plain slice in a Buffer needs two.
func (codec) MarshalWhole(v any) (mem.Buffer, error) {
	m := message(v)
	if m == nil {
		return nil, fmt.Errorf("proto: failed to marshal, message is %T, want proto.Message", v)
	}
	return marshalSized(m, proto.Size(m))
}

// marshalSized encodes m. size is the result of a call of proto.Size immediately before.
func marshalSized(m proto.Message, size int) (mem.Buffer, error) {
	// Size has stored the sizes of all parts of m in m.
	opts := proto.MarshalOptions{UseCachedSize: true}
	pool := mem.DefaultBufferPool()
	buf := pool.Get(size)
	b, err := opts.MarshalAppend((*buf)[:0], m)
	if err != nil {
		pool.Put(buf)
		return nil, err
	}
	*buf = b
	return mem.NewBuffer(buf, pool), nil
}

// Unmarshal decodes data. It copies data only if that has several buffers, as decoding needs one
// piece. The message does not keep any part of data.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch len(data) {
	case 0:
		return c.UnmarshalWhole(nil, v)
	case 1:
		return c.UnmarshalWhole(data[0].ReadOnlyData(), v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	return c.UnmarshalWhole(whole.ReadOnlyData(), v)
}

// UnmarshalWhole is like Unmarshal, for data in one piece.
func (codec) UnmarshalWhole(data []byte, v any) error {
	m := message(v)
	if m == nil {
		return fmt.Errorf("failed to unmarshal, message is %T, want proto.Message", v)
	}
	return proto.Unmarshal(data, m)
}

// message returns v as a message of the current protobuf API, or nil if v is not a protobuf
// message.
func message(v any) proto.Message {
	switch m := v.(type) {
	case proto.Message:
		return m
	case protoadapt.MessageV1:
		return protoadapt.MessageV2Of(m)
	}
	return nil
}
