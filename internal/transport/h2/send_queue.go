// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/mem"

// uncopied is from how many bytes on a piece of a message is written from where it
// is, without a copy.
const uncopied = 64 << 10

// firstFrames is a sendQueue with room for the message that it begins with, which most have no
// other behind, so that it takes one allocation.
type firstFrames struct {
	sendQueue
	room   [2]mem.Buffer
	buf    mem.SliceBuffer // of prefix
	prefix [len(Frames{}.Prefix)]byte
}

// newSendQueue returns a queue of f, which has data.
func newSendQueue(f *Frames) *sendQueue {
	q := &firstFrames{prefix: f.Prefix}
	q.buf = q.prefix[:]
	q.bufs = append(q.room[:0], &q.buf)
	q.size = len(q.prefix)
	q.add(f)
	return &q.sendQueue
}

func (q *sendQueue) push(f *Frames) {
	if f.HasData {
		q.bufs = append(q.bufs, mem.SliceBuffer(append([]byte(nil), f.Prefix[:]...)))
		q.size += len(f.Prefix)
	}
	q.add(f)
}

// add is push without the prefix.
func (q *sendQueue) add(f *Frames) {
	for _, b := range f.Data {
		if b.Len() == 0 {
			b.Free() // advance frees a buffer with its last byte, and this one has none
			continue
		}
		q.bufs = append(q.bufs, b)
		q.size += b.Len()
	}
	q.trailers = f.Trailers
	q.end = f.ends()
}

// divide says how the next frame of at most n bytes is made: it has size bytes, of which
// the first ones, copied, are to be copied. Where size is more, the rest is one piece that
// is long enough to be written from where it is.
func (q *sendQueue) divide(n int) (size, copied int) {
	off := q.off
	for _, b := range q.bufs {
		rest := b.Len() - off
		if fit := min(rest, n-size); fit >= uncopied {
			return size + fit, size
		}
		if size += rest; size >= n {
			return n, n
		}
		off = 0
	}
	return size, size
}

// appendTo moves the next n bytes of the queue to dst.
func (q *sendQueue) appendTo(dst []byte, n int) []byte {
	for n > 0 {
		data := q.bufs[0].ReadOnlyData()[q.off:]
		data = data[:min(len(data), n)]
		dst = append(dst, data...)
		n -= len(data)
		q.advance(len(data))
	}
	return dst
}

// takeTail moves the next n bytes, which are in one piece, out of the queue
// without a copy. ref keeps them alive.
func (q *sendQueue) takeTail(n int) (tail []byte, ref mem.Buffer) {
	ref = q.bufs[0]
	ref.Ref()
	tail = ref.ReadOnlyData()[q.off : q.off+n]
	q.advance(n)
	return tail, ref
}

// advance drops n bytes of the first buffer.
func (q *sendQueue) advance(n int) {
	q.size -= n
	if q.off += n; q.off < q.bufs[0].Len() {
		return
	}
	q.bufs[0].Free()
	q.bufs[0] = nil
	q.bufs = q.bufs[1:]
	q.off = 0
}

func (q *sendQueue) drop() {
	q.bufs.Free()
	*q = sendQueue{}
}
