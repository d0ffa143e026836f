// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"slices"

	"google.golang.org/grpc/internal/shrink"
)

// sockets is the set of the sockets of one node. Clients of the service ask for pages of it, and also make
// connections, so the cost of a page must not grow with the set: it is the entries on the page, and removed
// entries in between, which are at most an eighth of the set and 32 more. The zero value is an empty set.
type sockets struct {
	byID  map[int64]*Socket // nil while there are none
	order []int64           // the sorted numbers of the sockets, and of some that were removed
	most  int               // see shrink.Delete
}

func (c *sockets) len() int { return len(c.byID) }

func (c *sockets) add(s *Socket) {
	if c.byID == nil {
		c.byID = make(map[int64]*Socket)
	}
	c.byID[s.id] = s
	at := len(c.order) // nearly always the right place: sockets that are made at the same time may come out of order
	for at > 0 && c.order[at-1] > s.id {
		at--
	}
	c.order = slices.Insert(c.order, at, s.id)
}

// fewGone is how many removed sockets may be in the order of a small set.
const fewGone = 32

func (c *sockets) remove(s *Socket) {
	c.byID = shrink.Delete(c.byID, s.id, &c.most)
	if gone := len(c.order) - len(c.byID); gone > fewGone+len(c.byID)/8 {
		c.order = shrink.Slice(slices.DeleteFunc(c.order, func(id int64) bool { return c.byID[id] == nil }))
	}
	if len(c.byID) == 0 {
		*c = sockets{}
	}
}

// page returns the sockets of a page, and whether it is the last one.
func (c *sockets) page(p Page) (list []Ref, last bool) {
	limit := p.limit()
	from, _ := slices.BinarySearch(c.order, p.From)
	list = make([]Ref, 0, min(limit, len(c.order)-from))
	for _, id := range c.order[from:] {
		s := c.byID[id]
		switch {
		case s == nil:
		case len(list) == limit:
			return list, false
		default:
			list = append(list, s.Ref())
		}
	}
	return list, true
}
