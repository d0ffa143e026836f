// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/transport/h2/hpack"

// Shared is memory that is charged once, however many streams, and perhaps a memo,
// hold it. It belongs to one connection. Guarded by Conn.mu, but for size and
// pages, which do not change.
type Shared struct {
	pages   *hpack.Page // held with it, and shared in turn; nil: none
	size    uint32
	holders uint32
}

// Pages are those that NewShared was given.
func (s *Shared) Pages() *hpack.Page { return s.pages }

// NewShared is size bytes, and the memory of pages with those before it, which nobody holds
// yet.
func NewShared(size int, pages *hpack.Page) Shared {
	return Shared{size: uint32(size), pages: pages}
}
