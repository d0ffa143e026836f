// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"hash/maphash"
	"sync"

	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// FieldSource is a list of header fields to send.
type FieldSource interface {
	// AppendFields writes the fields to w. The connection calls it with its lock held, at most twice,
	// and it must write the same fields each time. It must do nothing but write.
	AppendFields(w *FieldWriter)
}

// FieldWriter takes the fields of a header block that is being sent.
type FieldWriter struct {
	enc  *hpack.Encoder // nil: the fields are only counted
	buf  []byte
	size uint32
	seen *seenFields
}

// seenFields remembers hashes of fields that were sent lately. A field enters
// the HPACK table when it is sent a second time: a value made for one call
// would only push out others.
type seenFields [16]uint16

var fieldSeed = maphash.MakeSeed()

func (f *seenFields) again(name, value string) bool {
	h := maphash.String(fieldSeed, value) + 31*maphash.String(fieldSeed, name)
	slot := &f[h&15]
	mark := uint16(h>>48) | 1
	if *slot == mark {
		return true
	}
	*slot = mark
	return false
}

// Field adds a field that is likely to be sent again on this connection.
func (w *FieldWriter) Field(name, value string) { w.add(name, value, hpack.Incremental) }

// Once adds a field whose value will probably differ next time.
func (w *FieldWriter) Once(name, value string) { w.add(name, value, hpack.WithoutIndexing) }

// Custom adds a field of the application. The connection does not know whether the field's value will
// be sent again.
func (w *FieldWriter) Custom(name, value string) {
	if w.enc != nil {
		if b, ok := w.enc.AppendKnown(w.buf, name, value); ok {
			w.buf = b
			return
		}
	}
	if w.seen != nil && w.seen.again(name, value) {
		w.Field(name, value)
		return
	}
	w.Once(name, value)
}

func (w *FieldWriter) add(name, value string, ix hpack.Indexing) {
	if w.enc == nil {
		w.size += uint32(len(name) + len(value) + 32)
		return
	}
	w.buf = w.enc.AppendField(w.buf, name, value, ix)
}

// fieldWriters has FieldWriters that only count. A local FieldWriter would escape, through a call of an
// interface method, and be allocated each time.
var fieldWriters = sync.Pool{New: func() any { return new(FieldWriter) }}

// listSize returns the size of f's list as RFC 9113 section 6.5.2 counts it.
func listSize(f FieldSource) uint32 {
	w := fieldWriters.Get().(*FieldWriter)
	*w = FieldWriter{}
	f.AppendFields(w)
	size := w.size
	fieldWriters.Put(w)
	return size
}
