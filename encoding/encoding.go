// SPDX-License-Identifier: Apache-2.0

// Package encoding has the registries of codecs, which encode messages, and of compressors.
// Registering is safe at any time, but meant for init functions: an RPC that has begun keeps the
// codec and compressor that it found.
//
// Experimental: this API may change in a later release.
package encoding

import (
	"io"

	"google.golang.org/grpc/internal/compressornames"
)

// Identity is the grpc-encoding of messages that are not compressed. A compressor that is
// registered with this name is not used for messages.
const Identity = "identity"

// Compressor compresses messages. It must be safe for concurrent use.
type Compressor interface {
	// Compress returns a writer that compresses data and writes it to w. The library closes the
	// writer when the message is complete, and does not use it after that.
	Compress(w io.Writer) (io.WriteCloser, error)
	// Decompress returns a reader of the decompressed data of r. The library reads it to io.EOF, or
	// drops it before that.
	Decompress(r io.Reader) (io.Reader, error)
	// Name returns the grpc-encoding. The result must never change, and must not be empty.
	Name() string
}

var compressors registry[Compressor]

// RegisterCompressor registers a compressor under its name. RPCs that choose the name use it, and
// so do messages that arrive with that grpc-encoding. The library announces the name to peers in
// grpc-accept-encoding. RegisterCompressor replaces a compressor with the same name.
func RegisterCompressor(c Compressor) {
	compressors.set(c.Name(), c)
	compressornames.Add(c.Name())
}

// GetCompressor returns the compressor that is registered under name, or nil if there is none.
func GetCompressor(name string) Compressor {
	return compressors.get(name)
}
