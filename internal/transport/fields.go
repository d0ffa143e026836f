// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"math/bits"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// padded reports white space at either end of a value.
func padded(v []byte) bool {
	if len(v) == 0 {
		return false
	}
	first, last := v[0], v[len(v)-1]
	return first == ' ' || first == '\t' || last == ' ' || last == '\t'
}

// fields is the part of a field block that applications see, about as small as it was on
// the wire: else a peer could make us hold many times what it sent. It is immutable.
//
// Each field begins with a number: its hpack reference, twice, plus 1 if that is to the
// whole field. A literal name, and then a literal value, follow, each behind its length.
// Values of "-bin" fields are encoded, but can be decoded.
type fields struct {
	text  string
	pages *hpack.Page // what it refers to
}

// keptBlock is what is kept of a field block for the streams that have it.
type keptBlock struct {
	text string    // of the fields, which refers to pages of held
	held h2.Shared // by the streams
}

// copy is k for another connection. Who holds k is its own connection's to know, and may change
// meanwhile.
func (k *keptBlock) copy() keptBlock { return keptBlock{k.text, k.held.Copy()} }

// fields are those that applications see, once held is set.
func (k *keptBlock) fields() fields { return fields{k.text, k.held.Pages()} }

// keepFields copies what an application may see of b, the block of a reply, as the text of its
// fields. The error is that of appendFields.
func keepFields(b *h2.HeaderBlock) (string, error) {
	size := fieldsSize(b, true)
	if size == 0 {
		return "", nil
	}
	text, err := appendFields(make([]byte, 0, size), b, true)
	return unsafeString(text), err
}

// fieldsSize is how many bytes appendFields appends.
func fieldsSize(b *h2.HeaderBlock, reply bool) (size int) {
	for i := range b.Len() {
		if isVisible(b.Kind(i), reply) {
			size += fieldSize(b, i)
		}
	}
	return size
}

// appendFields appends to text, which is empty, what an application may see of b, the block of a
// reply or of a request. The error names a "-bin" field that can't be decoded, or that has more
// joined values than are split, for which nothing is appended.
func appendFields(text []byte, b *h2.HeaderBlock, reply bool) (_ []byte, err error) {
	var joined joined
	for i := range b.Len() {
		kind := b.Kind(i)
		if !isVisible(kind, reply) {
			continue
		}
		text = appendField(text, b, i)
		if err == nil && isBinary(kind) {
			err = joined.add(b, i)
		}
	}
	if joined.tooMany() {
		return nil, err
	}
	return text, err
}

// fieldSize is how many bytes appendField appends.
func fieldSize(b *h2.HeaderBlock, i int) int {
	ref, whole := b.Ref(i)
	n := numberSize(uint64(ref) << 1)
	if ref == 0 {
		n += stringSize(b.Name(i))
	}
	if !whole {
		n += stringSize(b.Value(i))
	}
	return n
}

func numberSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

func stringSize(s []byte) int { return numberSize(uint64(len(s))) + len(s) }

func appendField(text []byte, b *h2.HeaderBlock, i int) []byte {
	ref, whole := b.Ref(i)
	head := uint64(ref) << 1
	if whole {
		head |= 1
	}
	text = binary.AppendUvarint(text, head)
	if ref == 0 {
		text = appendString(text, b.Name(i))
	}
	if !whole {
		text = appendString(text, b.Value(i))
	}
	return text
}

func appendString[T grpcwire.Text](text []byte, s T) []byte {
	return append(binary.AppendUvarint(text, uint64(len(s))), s...)
}

// appendLiteral appends a field that refers to nothing.
func appendLiteral(text []byte, name string, value []byte) []byte {
	return appendString(appendString(append(text, 0), name), value)
}

// next takes the first field off f. If all of the field is an entry in a page, ref is the
// reference to that, else 0.
func (f *fields) next() (name, value string, ref uint32, ok bool) {
	if f.text == "" {
		return "", "", 0, false
	}
	head := f.number()
	ref = uint32(head >> 1)
	if ref == 0 {
		name = f.string()
	} else {
		name = unsafeString(hpack.Name(ref, f.pages))
	}
	if head&1 == 0 {
		return name, f.string(), 0, true
	}
	value = unsafeString(hpack.Value(ref, f.pages))
	if ref <= hpack.StaticLen {
		ref = 0
	}
	return name, value, ref, true
}

func (f *fields) number() (n uint64) {
	for shift := 0; ; shift += 7 {
		b := f.text[0]
		f.text = f.text[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (f *fields) string() string {
	n := f.number()
	s := f.text[:n]
	f.text = f.text[n:]
	return s
}

// value is the value of field i as a string: what a table has is not copied.
func value(b *h2.HeaderBlock, i int) string {
	if _, whole := b.Ref(i); whole {
		return unsafeString(b.Value(i))
	}
	return string(b.Value(i))
}

// md returns the fields as a map that belongs to the caller.
func (f fields) md() metadata.MD {
	md := make(metadata.MD, 8)
	var d decoded
	for name, value, ref, ok := f.next(); ok; name, value, ref, ok = f.next() {
		vs := md[name]
		if grpcwire.IsBinary(name) {
			vs = d.append(vs, value, ref)
		} else {
			vs = append(vs, value)
		}
		if len(vs) > 0 {
			md[name] = vs
		}
	}
	return md
}

// values returns the values of one name, in lower case.
func (f fields) values(name string) []string {
	var vs []string
	var d decoded
	binary := grpcwire.IsBinary(name)
	for n, value, ref, ok := f.next(); ok; n, value, ref, ok = f.next() {
		switch {
		case n != name:
		case binary:
			vs = d.append(vs, value, ref)
		default:
			vs = append(vs, value)
		}
	}
	return vs
}

// writeMD writes the metadata of a server's application, which CheckReply has passed.
func writeMD(w *h2.FieldWriter, md metadata.MD) {
	for k, vs := range md {
		for _, v := range vs {
			writeReply(w, k, v)
		}
	}
}

func writeReply(w *h2.FieldWriter, k, v string) {
	if !grpcwire.IsReservedReply(k) {
		writeCustom(w, k, v)
	}
}

func writePair(w *h2.FieldWriter, k, v string) {
	if !grpcwire.IsReserved(k) {
		writeCustom(w, k, v)
	}
}

func writeCustom(w *h2.FieldWriter, k, v string) {
	if grpcwire.IsBinary(k) {
		w.Once(k, string(grpcwire.AppendBinary(nil, v)))
		return
	}
	w.Custom(k, v)
}

// CheckReply checks what a server's application wants to send. The error has a status. The
// setters of a call return it, but many programs ignore that: so the call ends with it too.
func CheckReply(md metadata.MD) error {
	for k, vs := range md {
		for _, v := range vs {
			if _, err := grpcwire.CheckReplyPair(k, v); err != nil {
				return status.Error(codes.Internal, err.Error())
			}
		}
	}
	return nil
}
