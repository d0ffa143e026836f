// SPDX-License-Identifier: Apache-2.0

// Package encoding holds the registries of codecs, which encode messages, and of
// compressors. Registering is safe at any time, but meant for init functions: an RPC
// that is under way keeps what it found.
//
// Experimental: this API may change in a later release.
package encoding

import (
	"io"

	"google.golang.org/grpc/internal/compressornames"
)

// Identity is the grpc-encoding of messages that are not compressed. It cannot be
// registered.
const Identity = "identity"

// Compressor compresses messages. It must be safe for concurrent use.
//
// One that has a method DecompressedSize(compressed []byte) int, telling the size
// of a message (-1: not known), makes a single buffer of the right size possible.
// The answer is a hint: it comes from the peer.
type Compressor interface {
	// Compress returns a writer that writes what it is given to w, compressed. The
	// library closes it when the message is complete, and calls nothing after that.
	Compress(w io.Writer) (io.WriteCloser, error)
	// Decompress returns a reader of what r holds compressed. The library reads it
	// to io.EOF, or drops it.
	Decompress(r io.Reader) (io.Reader, error)
	// Name is the grpc-encoding. It is always the same, and not empty.
	Name() string
}

var compressors registry[Compressor]

// RegisterCompressor registers a compressor under its name, for calls that ask for
// it and for messages that come with it; peers are told of it in
// grpc-accept-encoding. It replaces one that has the same name.
func RegisterCompressor(c Compressor) {
	compressors.set(c.Name(), c)
	compressornames.Add(c.Name())
}

// GetCompressor returns the compressor of a name, nil if there is none.
func GetCompressor(name string) Compressor {
	return compressors.get(name)
}
