// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/transport/h2/hpack"

// Shared is memory that is charged once, however many streams, and perhaps memos,
// hold it. It belongs to one connection. Guarded by Conn.mu, but for size and
// pages, which do not change.
type Shared struct {
	pages   *hpack.Page // held with it, and shared in turn, unless it is a copy; nil: none
	size    uint32      // with isCopy if it is one: its pages are another connection's, and size has them
	holders uint32
}

const isCopy = 1 << 31

// Pages are those that NewShared was given.
func (s *Shared) Pages() *hpack.Page { return s.pages }

// NewShared is size bytes, and the memory of pages with those before it, which nobody holds
// yet.
func NewShared(size int, pages *hpack.Page) Shared {
	return Shared{size: uint32(size), pages: pages}
}

// Copy is what a copy of it takes that another connection holds, which nobody holds yet.
func (s *Shared) Copy() Shared { return Shared{pages: s.pages, size: uint32(s.whole()) | isCopy} }

// whole is what it takes with all pages.
func (s *Shared) whole() int {
	n := int(s.size &^ isCopy)
	for p := s.countedPages(); p != nil; p = p.Prev() {
		n += p.Size()
	}
	return n
}

// countedPages are those that are charged one by one.
func (s *Shared) countedPages() *hpack.Page {
	if s.size&isCopy != 0 {
		return nil
	}
	return s.pages
}
