// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/transport/h2/hpack"

// Shared is memory that is charged once, however many streams, and perhaps a memo,
// hold it. It belongs to one connection. Guarded by Conn.mu, but for size, which does
// not change.
type Shared struct {
	size    int
	entries []*hpack.Entry // held with it, and shared in turn
	holders int
}

// NewShared is size bytes, and the memory of entries, that nobody holds yet.
func NewShared(size int, entries []*hpack.Entry) Shared {
	return Shared{size: size, entries: entries}
}
