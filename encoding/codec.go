// SPDX-License-Identifier: Apache-2.0

package encoding

import (
	"strings"

	"google.golang.org/grpc/mem"
)

// CodecV2 turns messages into bytes and back. It must be safe for concurrent use.
type CodecV2 interface {
	// Marshal returns v encoded. The library frees the result.
	Marshal(v any) (out mem.BufferSlice, err error)
	// Unmarshal decodes data into v. The library frees data when Unmarshal
	// returns: what is to be kept must be copied, or kept by a reference of its own
	// (data.Ref).
	Unmarshal(data mem.BufferSlice, v any) error
	// Name is the content-subtype ("proto" in application/grpc+proto). It is
	// always the same, and not empty.
	Name() string
}

// Codec is the older form of CodecV2, over plain slices. It must be safe for
// concurrent use.
type Codec interface {
	// Marshal returns v encoded.
	Marshal(v any) ([]byte, error)
	// Unmarshal decodes data into v. It must not keep data.
	Unmarshal(data []byte, v any) error
	// Name is the content-subtype. It is always the same, and not empty.
	Name() string
}

// codecs hold a Codec or a CodecV2 for each name: what was registered last.
var codecs registry[any]

// RegisterCodecV2 registers a codec under its name, in lower case, for clients that
// ask for it and for requests that come with it as their content-subtype. It
// replaces any codec of either form that has the name: "proto" replaces the default.
// It panics if codec is nil or its name empty.
func RegisterCodecV2(codec CodecV2) {
	if codec == nil {
		panic("cannot register a nil CodecV2")
	}
	registerCodec(codec.Name(), "CodecV2", codec)
}

// RegisterCodec is RegisterCodecV2 for the older form.
func RegisterCodec(codec Codec) {
	if codec == nil {
		panic("cannot register a nil Codec")
	}
	registerCodec(codec.Name(), "Codec", codec)
}

// GetCodecV2 returns the codec that was registered for a content-subtype, which must
// be in lower case, with RegisterCodecV2; nil if there is none.
func GetCodecV2(contentSubtype string) CodecV2 {
	c, _ := codecs.get(contentSubtype).(CodecV2)
	return c
}

// GetCodec returns the codec that was registered for a content-subtype, which must
// be in lower case, with RegisterCodec; nil if there is none.
func GetCodec(contentSubtype string) Codec {
	c, _ := codecs.get(contentSubtype).(Codec)
	return c
}

func registerCodec(name, kind string, codec any) {
	if name == "" {
		panic("cannot register " + kind + " with empty string result for Name()")
	}
	codecs.set(strings.ToLower(name), codec)
}
