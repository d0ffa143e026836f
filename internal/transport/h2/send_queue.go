// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/mem"

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
	for b := range f.Data.All() {
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

// moveTo moves the next n bytes of the queue to o. Of these what is in one piece of at least
// uncopied bytes is not copied.
func (q *sendQueue) moveTo(o *outbuf, n, uncopied int, pool mem.BufferPool) {
	for n > 0 {
		buf := q.bufs[0]
		data := buf.ReadOnlyData()[q.off:]
		data = data[:min(len(data), n)]
		if len(data) >= uncopied {
			buf.Ref()
			o.lend(data, buf)
		} else {
			o.copy(data, pool)
		}
		n -= len(data)
		q.advance(len(data))
	}
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

// drop ends the queue before its time.
func (q *sendQueue) drop() {
	q.bufs.Free()
	q.signalSpace()
	*q = sendQueue{}
}
