// SPDX-License-Identifier: Apache-2.0

package h2

import "iter"

// streamSet is streams by their ids. Most connections that wait have one or two, for which a
// map is large. The nil set is empty, and read only.
type streamSet struct {
	few  []*stream // all, as long as many is nil
	many map[uint32]*stream
}

// maxFew is how many streams are looked through faster than a map is asked.
const maxFew = 8

func (t *streamSet) len() int {
	switch {
	case t == nil:
		return 0
	case t.many != nil:
		return len(t.many)
	}
	return len(t.few)
}

func (t *streamSet) get(id uint32) *stream {
	if t == nil {
		return nil
	}
	if t.many != nil {
		return t.many[id]
	}
	for _, s := range t.few {
		if s.id == id {
			return s
		}
	}
	return nil
}

// add adds s, whose id is not there.
func (t *streamSet) add(s *stream) {
	if t.many == nil && len(t.few) < maxFew {
		t.few = append(t.few, s)
		return
	}
	if t.many == nil {
		t.many = make(map[uint32]*stream, 2*maxFew)
		for _, f := range t.few {
			t.many[f.id] = f
		}
		t.few = nil
	}
	t.many[s.id] = s
}

// remove removes s, if it is there.
func (t *streamSet) remove(s *stream) {
	if t.many != nil {
		delete(t.many, s.id)
		return
	}
	for i, f := range t.few {
		if f == s {
			last := len(t.few) - 1
			t.few[i], t.few[last] = t.few[last], nil
			t.few = t.few[:last]
			return
		}
	}
}

// all are the streams, in no order. The set must not be changed meanwhile.
func (t *streamSet) all() iter.Seq[*stream] {
	return func(yield func(*stream) bool) {
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
