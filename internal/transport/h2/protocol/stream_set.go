// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"iter"

	"google.golang.org/grpc/internal/shrink"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// streamSet is a set of streams by their ids. The first stream needs no other memory, because most
// connections that wait for something have one stream. A nil set is empty and must not be added to.
type streamSet struct {
	one  *Stream      // nil: none, or it is gone
	rest *someStreams // nil: none
	kept *hpack.Kept  // while the connection is parked: the HPACK fields that streams hold; usually nil
}

// keep stores, for the reader, the HPACK fields that streams hold. It stores none if the set is empty.
// Then only handlers that outlive their streams hold such fields. There are never many of those, and
// the same octets may be stored again for them.
func (t *streamSet) keep(kept hpack.Kept) {
	if t.len() > 0 && len(kept) > 0 {
		t.kept = &kept
	}
}

// takeKept returns what keep stored, if the set still has it.
func (t *streamSet) takeKept() (kept hpack.Kept) {
	if t != nil && t.kept != nil {
		kept = *t.kept
		t.kept = nil
	}
	return kept
}

func (t *streamSet) len() int {
	switch {
	case t == nil:
		return 0
	case t.one == nil:
		return t.rest.len()
	}
	return 1 + t.rest.len()
}

func (t *streamSet) get(id uint32) *Stream {
	if t == nil {
		return nil
	}
	if t.one != nil && t.one.id == id {
		return t.one
	}
	return t.rest.get(id)
}

// add adds s. The set must not have a stream with its id.
func (t *streamSet) add(s *Stream) {
	switch {
	case t.one == nil:
		t.one = s
		return
	case t.rest == nil:
		t.rest = new(someStreams)
	}
	t.rest.add(s)
}

// trim gives back the memory of more streams than there are.
func (t *streamSet) trim() {
	if t == nil || t.rest == nil {
		return
	}
	switch n := t.rest.len(); {
	case n == 0:
		t.rest = nil
	case t.rest.many != nil && n <= maxFew:
		few := make([]*Stream, 0, n)
		for _, s := range t.rest.many {
			few = append(few, s)
		}
		t.rest = &someStreams{few: few}
	}
}

// remove removes s, and reports whether it was there.
func (t *streamSet) remove(s *Stream) bool {
	switch {
	case t == nil:
		return false
	case t.one == s:
		t.one = nil
		return true
	}
	return t.rest.remove(s)
}

// all returns the streams, in no particular order. The set must not be changed during the iteration.
func (t *streamSet) all() iter.Seq[*Stream] {
	return func(yield func(*Stream) bool) {
		if t == nil || t.one != nil && !yield(t.one) {
			return
		}
		for s := range t.rest.all() {
			if !yield(s) {
				return
			}
		}
	}
}

// someStreams are the streams of a streamSet except the first. A list has them if there are few,
// because a map would be large.
type someStreams struct {
	few  []*Stream // all streams, as long as many is nil
	many map[uint32]*Stream
	last *Stream // the stream of many that was added or looked up last: the next frame is often for it; may be nil
	most int     // see shrink.Delete
}

// maxFew is the largest number of streams for which searching a list is faster than a map.
const maxFew = 8

func (t *someStreams) len() int {
	switch {
	case t == nil:
		return 0
	case t.many != nil:
		return len(t.many)
	}
	return len(t.few)
}

func (t *someStreams) get(id uint32) *Stream {
	if t == nil {
		return nil
	}
	if t.last != nil && t.last.id == id {
		return t.last
	}
	if t.many != nil {
		s := t.many[id]
		if s != nil {
			t.last = s
		}
		return s
	}
	for _, s := range t.few {
		if s.id == id {
			return s
		}
	}
	return nil
}

// add adds s. There must be no stream with its id.
func (t *someStreams) add(s *Stream) {
	if t.many == nil && len(t.few) < maxFew {
		t.few = append(t.few, s)
		return
	}
	if t.many == nil {
		t.many = make(map[uint32]*Stream, 2*maxFew)
		for _, f := range t.few {
			t.many[f.id] = f
		}
		t.few = nil
	}
	t.many[s.id] = s
	t.last = s
}

// remove removes s, and reports whether it was there.
func (t *someStreams) remove(s *Stream) bool {
	if t == nil {
		return false
	}
	if t.many != nil {
		if t.last == s {
			t.last = nil
		}
		n := len(t.many)
		t.many = shrink.Delete(t.many, s.id, &t.most)
		return len(t.many) < n
	}
	for i, f := range t.few {
		if f == s {
			last := len(t.few) - 1
			t.few[i], t.few[last] = t.few[last], nil
			t.few = t.few[:last]
			return true
		}
	}
	return false
}

func (t *someStreams) all() iter.Seq[*Stream] {
	return func(yield func(*Stream) bool) {
		switch {
		case t == nil:
		case t.many != nil:
			for _, s := range t.many {
				if !yield(s) {
					return
				}
			}
		default:
			for _, s := range t.few {
				if !yield(s) {
					return
				}
			}
		}
	}
}
