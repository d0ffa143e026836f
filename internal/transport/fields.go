// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"math/bits"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// padded reports whether v has white space at either end.
func padded(v []byte) bool {
	if len(v) == 0 {
		return false
	}
	first, last := v[0], v[len(v)-1]
	return first == ' ' || first == '\t' || last == ' ' || last == '\t'
}

// fields is the part of a field block that applications see. It takes about as little memory as the fields
// took bytes on the wire: otherwise a peer could make us hold many times what it sent. It is immutable.
//
// Each field begins with a number: twice the place of its name, plus 1 if its value is in the same place.
// Place 0 means that the name follows. 1 to hpack.StaticLen is an index of the static table, and a place
// from inRefs on is in refs. A value that is in no such place follows. Each name and value that follows has
// its length in front. Values of "-bin" fields are still encoded, and all can be decoded.
//
// An application never gets a part of text, unless the part is at least half of it: a value that the
// application keeps would keep the whole block.
type fields struct {
	text string
	refs []*hpack.Field // without repetition
}

const inRefs = hpack.StaticLen + 1

// keptBlock is what is kept of a field block for the streams that have it.
type keptBlock struct {
	text string    // of the fields; held has their refs
	held h2.Shared // counts the streams that have the block
}

// copy returns k for another connection. The copy counts its own holders: the count of k belongs to k's
// connection, which may change it meanwhile.
func (k *keptBlock) copy() keptBlock { return keptBlock{k.text, k.held.Copy()} }

// fields returns the fields that applications see. held must be set.
func (k *keptBlock) fields() fields { return fields{k.text, k.held.Refs()} }

// fieldsBuffer is a fields that is being written.
type fieldsBuffer struct {
	text []byte
	refs []*hpack.Field
}

// newFieldsBuffer returns a buffer with room for what an application may see of b, the block of a reply or
// of a request, if that refers to few fields.
func newFieldsBuffer(b *h2.HeaderBlock, reply bool) (f fieldsBuffer) {
	size, refs := 0, 0
	for i := range b.Len() {
		if !isVisible(b.Kind(i), reply) {
			continue
		}
		size += fieldSize(b, i)
		if ref, _ := b.Field(i); ref != nil {
			refs++
		}
	}
	if size > 0 {
		f.text = make([]byte, 0, size)
	}
	if refs > 0 {
		f.refs = make([]*hpack.Field, 0, min(refs, fewRefs))
	}
	return f
}

// fewRefs is how many fields most blocks refer to at most. A block may refer to a field any number of
// times.
const fewRefs = 8

// addBlock returns f with what an application may see of b, the block of a reply or of a request. The error
// names a "-bin" field that can't be decoded, or one that has more joined values than are split. In the
// second case the result is empty. (A method of the pointer would make f escape to the heap.)
func (f fieldsBuffer) addBlock(b *h2.HeaderBlock, reply bool) (_ fieldsBuffer, err error) {
	var joined joined
	for i := range b.Len() {
		kind := b.Kind(i)
		if !isVisible(kind, reply) {
			continue
		}
		f = f.add(b, i)
		if err == nil && isBinary(kind) {
			err = joined.add(b, i)
		}
	}
	if joined.tooMany() {
		return fieldsBuffer{}, err
	}
	return f, err
}

// fieldSize returns about how many bytes of text add appends.
func fieldSize(b *h2.HeaderBlock, i int) int {
	static, whole := b.Static(i)
	ref, _ := b.Field(i)
	n := 1
	switch {
	case ref != nil:
		n = 2
	case static == 0:
		n += stringSize(b.Name(i))
	}
	if !whole {
		n += stringSize(b.Value(i))
	}
	return n
}

func numberSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

func stringSize(s []byte) int { return numberSize(uint64(len(s))) + len(s) }

// add returns f with field i of b.
func (f fieldsBuffer) add(b *h2.HeaderBlock, i int) fieldsBuffer {
	where, whole := b.Static(i)
	if ref, _ := b.Field(i); ref != nil {
		at, known := f.find(ref)
		if !known {
			ref.Place = uint32(at)
			f.refs = append(f.refs, ref)
		}
		where = inRefs + at
	}
	head := uint64(where) << 1
	if whole {
		head |= 1
	}
	f.text = binary.AppendUvarint(f.text, head)
	if where == 0 {
		f.text = appendString(f.text, b.Name(i))
	}
	if !whole {
		f.text = appendString(f.text, b.Value(i))
	}
	return f
}

// find returns where ref is in f.refs, or where it would go.
func (f fieldsBuffer) find(ref *hpack.Field) (at int, known bool) {
	if at := int(ref.Place); at < len(f.refs) && f.refs[at] == ref {
		return at, true
	}
	return len(f.refs), false
}

// string returns the text, in memory that it mostly fills.
func (f fieldsBuffer) string() string {
	if cap(f.text)-len(f.text) > 16+len(f.text)/8 {
		return string(f.text)
	}
	return unsafeString(f.text)
}

// addLiteral returns f with a field that refers to nothing.
func (f fieldsBuffer) addLiteral(name string, value []byte) fieldsBuffer {
	f.text = appendString(appendString(append(f.text, 0), name), value)
	return f
}

func appendString[T grpcwire.Text](text []byte, s T) []byte {
	return append(binary.AppendUvarint(text, uint64(len(s))), s...)
}

// keptField is one field of fields.
type keptField struct {
	name, value string
	whole       *hpack.Field // the table's field whose name and value these are; nil: none
	// Whether these are parts of the text: own turns such parts into strings that may be kept.
	nameInText, valueInText bool
}

// next takes the first field off f.
func (f *fields) next() (k keptField, ok bool) {
	if f.text == "" {
		return k, false
	}
	head := f.number()
	var ref *hpack.Field
	switch where := head >> 1; {
	case where == 0:
		k.name, k.nameInText = f.string(), true
	case where >= inRefs:
		ref = f.refs[where-inRefs]
		k.name, k.value = ref.Name(), ref.Value()
	default:
		k.name, k.value = hpack.Static(int(where))
	}
	if head&1 == 0 {
		k.value, k.valueInText = f.string(), true
	} else {
		k.whole = ref
	}
	return k, true
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

// value returns the value of field i as a string. It copies no value that a table has.
func value(b *h2.HeaderBlock, i int) string {
	if f, whole := b.Field(i); f != nil && whole {
		return f.Value()
	}
	if static, whole := b.Static(i); static != 0 && whole {
		_, v := hpack.Static(static)
		return v
	}
	return string(b.Value(i))
}

// own returns s, which next returned, as a string that an application may keep. That keeps at most twice as
// much memory as s takes.
func (f fields) own(s string, inText bool) string {
	if !inText || 2*len(s) >= len(f.text) {
		return s
	}
	return strings.Clone(s)
}

// appendValues appends the values of k.
func (f fields) appendValues(vs []string, k *keptField, d *decoded) []string {
	if grpcwire.IsBinary(k.name) {
		return d.append(vs, k.value, k.whole)
	}
	return append(vs, f.own(k.value, k.valueInText))
}

// md returns the fields as a map that belongs to the caller.
func (f fields) md() metadata.MD {
	md := make(metadata.MD, 8)
	var d decoded
	rest := f
	for k, ok := rest.next(); ok; k, ok = rest.next() {
		before, known := md[k.name]
		vs := f.appendValues(before, &k, &d)
		switch {
		case known:
			md[k.name] = vs
		case len(vs) > 0:
			md[f.own(k.name, k.nameInText)] = vs
		}
	}
	return md
}

// values returns the values of one name, in lower case.
func (f fields) values(name string) []string {
	var vs []string
	var d decoded
	rest := f
	for k, ok := rest.next(); ok; k, ok = rest.next() {
		if k.name == name {
			vs = f.appendValues(vs, &k, &d)
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

// CheckReply checks what a server's application wants to send. The error has a status. The setters of a
// call return it. Because many programs ignore that, the call ends with it too.
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
