// SPDX-License-Identifier: Apache-2.0

package encoding

import (
	"strings"

	"google.golang.org/grpc/mem"
)

// CodecV2 encodes and decodes messages. It must be safe for concurrent use.
type CodecV2 interface {
	// Marshal returns v encoded. The library frees the result.
	Marshal(v any) (out mem.BufferSlice, err error)
	// Unmarshal decodes data into v. The library frees data when Unmarshal returns. A codec that
	// keeps a part of data must copy it or take a reference of its own (data.Ref).
	Unmarshal(data mem.BufferSlice, v any) error
	// Name returns the content-subtype ("proto" in application/grpc+proto). The result must never
	// change, and must not be empty.
	Name() string
}

// Codec is the older form of CodecV2, which uses plain slices. It must be safe for concurrent use.
type Codec interface {
	// Marshal returns v encoded.
	Marshal(v any) ([]byte, error)
	// Unmarshal decodes data into v. It must not keep data.
	Unmarshal(data []byte, v any) error
	// Name returns the content-subtype. The result must never change, and must not be empty.
	Name() string
}

// codecs has, for each name, the Codec or CodecV2 that was registered last.
var codecs registry[any]

// RegisterCodecV2 registers a codec under its name in lower case. Clients that choose the name use
// it, and so do servers for requests with that content-subtype. RegisterCodecV2 replaces a codec of
// either form with the same name; a codec with the name "proto" replaces the default. It panics if
// codec is nil or its name is empty.
func RegisterCodecV2(codec CodecV2) {
	if codec == nil {
		panic("cannot register a nil CodecV2")
	}
	registerCodec(codec.Name(), "CodecV2", codec)
}

// RegisterCodec is like RegisterCodecV2, for the older form.
func RegisterCodec(codec Codec) {
	if codec == nil {
		panic("cannot register a nil Codec")
	}
	registerCodec(codec.Name(), "Codec", codec)
}

// GetCodecV2 returns the codec that was registered with RegisterCodecV2 for a content-subtype, or
// nil if there is none. The content-subtype must be in lower case.
func GetCodecV2(contentSubtype string) CodecV2 {
	c, _ := codecs.get(contentSubtype).(CodecV2)
	return c
}

// GetCodec returns the codec that was registered with RegisterCodec for a content-subtype, or nil
// if there is none. The content-subtype must be in lower case.
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
