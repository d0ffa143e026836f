// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/mem"
)

// NewBuffer returns a Buffer of the bytes in *data with one reference, owned by the
// caller. The array and the header now belong to the Buffer, which passes both to pool.Put
// when the last reference is given up. With a nil pool the result is a [SliceBuffer].
func NewBuffer(data *[]byte, pool BufferPool) Buffer {
	if pool == nil {
		return SliceBuffer(*data)
	}
	return newRegion(data, pool)
}

// Copy returns a Buffer with a copy of data, owned by the caller; data itself may be reused
// at once. The memory comes from pool. Sizes up to the pooling threshold, and all sizes if
// pool is nil, get an allocation of just their size.
func Copy(data []byte, pool BufferPool) Buffer {
	if pool == nil || IsBelowBufferPoolingThreshold(len(data)) {
		return SliceBuffer(append([]byte(nil), data...))
	}
	b := pool.Get(len(data))
	copy(*b, data)
	return NewBuffer(b, pool)
}

// region is one piece of pooled memory. It returns to its pool when the last of the views
// on it is gone.
type region struct {
	memory *[]byte
	pool   BufferPool
	views  atomic.Int32
	whole  view // the first one, embedded so that NewBuffer needs one object
}

// view is the Buffer over a part of a region. Each has its own count, so that a
// Free too many is noticed at the Buffer whose owner erred.
type view struct {
	region *region
	data   []byte // changes only while refs is 1, by the holder of that reference
	refs   atomic.Int32
}

var (
	regionObjects = sync.Pool{New: func() any { return new(region) }}
	viewObjects   = sync.Pool{New: func() any { return new(view) }}
)

func newRegion(memory *[]byte, pool BufferPool) *view {
	r := regionObjects.Get().(*region)
	r.memory, r.pool = memory, pool
	r.views.Store(1)
	r.whole.begin(r, *memory)
	return &r.whole
}

// subview returns a new view on data, which lies in the region of v.
func (v *view) subview(data []byte) Buffer {
	if len(data) == 0 {
		return SliceBuffer(nil) // nothing to keep the memory for
	}
	v.region.views.Add(1)
	s := viewObjects.Get().(*view)
	s.begin(v.region, data)
	return s
}

func (v *view) begin(r *region, data []byte) {
	v.region, v.data = r, data
	v.refs.Store(1)
}

// ReadOnlyData implements Buffer.
func (v *view) ReadOnlyData() []byte {
	v.mustLive("read")
	return v.data[:len(v.data):len(v.data)]
}

// Len implements Buffer.
func (v *view) Len() int {
	v.mustLive("read")
	return len(v.data)
}

// Ref implements Buffer.
func (v *view) Ref() {
	if v.refs.Add(1) <= 1 {
		v.refs.Add(-1) // the Buffer stays freed if the program recovers
		panic("Cannot ref freed buffer")
	}
}

// Free implements Buffer.
func (v *view) Free() {
	switch n := v.refs.Add(-1); {
	case n > 0:
	case n == 0:
		v.end()
	default:
		v.refs.Add(1)
		panic("Cannot free freed buffer")
	}
}

// Slice implements Buffer.
func (v *view) Slice(start, end int) Buffer {
	v.mustLive("slice")
	part := v.data[:len(v.data):len(v.data)][start:end:end]
	if len(part) == len(v.data) {
		v.Ref()
		return v
	}
	return v.subview(part)
}

func (v *view) readInto(dst []byte) (int, Buffer) {
	v.mustLive("read")
	n := copy(dst, v.data)
	switch {
	case n == len(v.data):
		v.Free()
		return n, nil
	case v.refs.Load() == 1:
		v.data = v.data[n:]
		return n, v
	default: // others hold this view: it must not change under them
		rest := v.subview(v.data[n:])
		v.Free()
		return n, rest
	}
}

func (v *view) splitAt(n int) (left, right Buffer) {
	v.mustLive("split")
	head, tail := v.data[:n:n], v.data[n:]
	right = v.subview(tail)
	if v.refs.Load() == 1 {
		v.data = head
		return v, right
	}
	left = v.subview(head)
	v.Free()
	return left, right
}

// end gives up the view, and with the last view the region. Race builds leave the objects to the garbage
// collector: a view that is never used again can always tell that it was freed.
func (v *view) end() {
	r := v.region
	if v != &r.whole {
		v.region, v.data = nil, nil
		if !mem.Checking {
			viewObjects.Put(v)
		}
	}
	if r.views.Add(-1) > 0 {
		return
	}
	memory, pool := r.memory, r.pool
	r.memory, r.pool, r.whole.region, r.whole.data = nil, nil, nil, nil
	if !mem.Checking {
		regionObjects.Put(r)
	}
	pool.Put(memory)
}

// isSole reports whether v is the only view on the given memory, is n bytes long, and has one
// reference. The holder of that reference may then write behind those bytes.
func (v *view) isSole(memory *[]byte, n int) bool {
	r := v.region
	return v.refs.Load() == 1 && r != nil && v == &r.whole && r.memory == memory &&
		r.views.Load() == 1 && len(v.data) == n
}

func (v *view) mustLive(what string) {
	if v.refs.Load() <= 0 {
		panic("Cannot " + what + " freed buffer")
	}
}
