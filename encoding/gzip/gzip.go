// SPDX-License-Identifier: Apache-2.0

// Package gzip has the gzip compressor. Importing the package registers it under the name "gzip".
//
// Experimental: this API may change in a later release.
package gzip

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"google.golang.org/grpc/encoding"
)

// Name is the grpc-encoding of gzip.
const Name = "gzip"

func init() {
	level.Store(gzip.DefaultCompression)
	encoding.RegisterCompressor(compressor{})
}

// level is the compression level of new messages.
var level atomic.Int32

// SetLevel sets the compression level of all later messages: gzip.DefaultCompression, or
// gzip.NoCompression (0) to gzip.BestCompression (9). For any other level it returns an error and
// changes nothing.
func SetLevel(l int) error {
	if l < gzip.DefaultCompression || l > gzip.BestCompression {
		return fmt.Errorf("grpc: invalid gzip compression level: %d", l)
	}
	level.Store(int32(l))
	return nil
}

type compressor struct{}

func (compressor) Name() string { return Name }

func (compressor) Compress(w io.Writer) (io.WriteCloser, error) {
	return newWriter(w, int(level.Load()))
}

func (compressor) Decompress(r io.Reader) (io.Reader, error) {
	return newReader(r)
}

// DecompressedSize returns the size at the end of the message (RFC 1952, section 2.3.1: ISIZE,
// modulo 2^32), or -1 if the message is too short. The peer sets it, so it is only a hint and never
// a limit.
func (compressor) DecompressedSize(compressed []byte) int {
	// An empty message takes 20 bytes: header 10, block 2, CRC 4, ISIZE 4.
	if len(compressed) < 20 {
		return -1
	}
	size := binary.LittleEndian.Uint32(compressed[len(compressed)-4:])
	if uint64(size) > math.MaxInt {
		return -1
	}
	return int(size)
}
