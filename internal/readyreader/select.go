// SPDX-License-Identifier: Apache-2.0

package readyreader

import "google.golang.org/grpc/mem"

// Options says how New should buffer a connection.
type Options struct {
	// Pool lends the read buffers. It is used only with Pooled, and must then
	// not be nil.
	Pool mem.BufferPool
	// Size is the size of a read buffer in bytes, and the most that one Peek
	// can ask for. Values below 128 count as 128.
	Size int
	// First is the size of the first read, if it is not 0 and the buffer is pooled. It is for connections
	// that usually get little input at first.
	First int
	// Pooled asks for a buffer that is held only while it has bytes in it.
	// Without it the connection keeps one buffer of its own for life.
	Pooled bool
	// Reuse is what Recycle returned: New uses its memory again, if it can. It may be nil.
	Reuse Buffered
}

// minSize leaves room for a frame header and smallTail bytes.
const minSize = 128

// New returns the buffered read side of s. The buffer is pooled if opts ask for that and s can wait for
// input without a buffer. Otherwise it is kept for life, and s.Conn's Read fills it. The caller still sets
// deadlines on s.Conn and closes it, and calls Release once it has stopped reading.
func New(s Socket, opts Options) Buffered {
	size := max(opts.Size, minSize)
	if opts.Pooled && s.Can().HasAny(ReadsReady|TriesReads) {
		return newPooled(s.Layer, opts.Pool, sizes{size, min(opts.First, size)}, opts.Reuse)
	}
	return newFixed(s.Conn, size)
}
