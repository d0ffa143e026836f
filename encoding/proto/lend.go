// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"google.golang.org/grpc/mem"
)

// lendFrom is the size, in bytes, from which a message is encoded around its large field. At 64 KiB that
// takes as long as copying the field.
const lendFrom = 128 << 10

// maxLook is how many fields of message types the search for the large field looks at.
const maxLook = 128

// surroundings has the encoded bytes before and after a large field. It takes one allocation for most
// messages, as these bytes are only the field's tag and length.
type surroundings struct {
	head, tail mem.SliceBuffer
	room       [16]byte
}

// MarshalAround encodes v in three parts: head, large and tail. large is a bytes field of v, which is
// not copied. If no field has most of the bytes of v, large and tail are nil, and head is the whole
// message.
func (c codec) MarshalAround(v any) (head mem.Buffer, large []byte, tail mem.Buffer, err error) {
	m, ok := v.(proto.Message)
	if !ok || marshalsItself(v) {
		head, err = c.MarshalWhole(v)
		return head, nil, nil, err
	}
	size := proto.Size(m)
	if size < lendFrom {
		head, err = marshalSized(m, size)
		return head, nil, nil, err
	}
	f := finder{least: size - size/4}
	if large = f.find(m.ProtoReflect()); large == nil {
		head, err = marshalSized(m, proto.Size(m)) // compute the size again, as find may have decoded lazy fields
		return head, nil, nil, err
	}
	s := new(surroundings)
	s.head, s.tail, err = encodeAround(s.room[:0], m.ProtoReflect(), size, f.path[:f.depth], large)
	if err == nil {
		err = proto.CheckInitialized(m)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	return &s.head, large, &s.tail, nil
}

// marshalsItself reports whether v has an encoding method of its own, as messages of other code
// generators may have.
func marshalsItself(v any) bool {
	_, ok := v.(interface{ Marshal() ([]byte, error) })
	return ok
}

// finder finds the bytes field that is not shorter than least. A message has at most one, as least
// is more than half of its size.
type finder struct {
	least  int
	looked int
	path   [maxDepth]protoreflect.FieldDescriptor // the first depth fields lead to the large field
	depth  int
}

// find returns the large field of m, or nil if there is none.
func (f *finder) find(m protoreflect.Message) (large []byte) {
	if f.depth == maxDepth || marshalsItself(m.Interface()) {
		return nil
	}
	fields := m.Descriptor().Fields()
	for i := 0; i < fields.Len() && f.looked < maxLook; i++ {
		f.looked++
		fd := fields.Get(i)
		kind := fd.Kind()
		if kind != protoreflect.BytesKind && kind != protoreflect.MessageKind || fd.IsList() || fd.IsMap() || !m.Has(fd) {
			continue
		}
		f.path[f.depth] = fd
		f.depth++
		if kind == protoreflect.MessageKind {
			large = f.find(m.Get(fd).Message())
		} else if b := m.Get(fd).Bytes(); len(b) >= f.least {
			large = b
		}
		if large != nil {
			return large
		}
		f.depth--
	}
	return nil
}

// encodeAround encodes m without its field large, to which path leads. size is the size of m's whole
// encoding. It appends the bytes that precede large to before, and returns the bytes that follow large as
// after.
func encodeAround(before []byte, m protoreflect.Message, size int, path []protoreflect.FieldDescriptor, large []byte) (_, after []byte, err error) {
	fd, n := path[0], len(large)
	var innerBefore, innerAfter []byte
	if len(path) > 1 {
		inner := m.Get(fd).Message()
		innerBefore, innerAfter, err = encodeAround(nil, inner, proto.Size(inner.Interface()), path[1:], large)
		if err != nil {
			return nil, nil, err
		}
		n += len(innerBefore) + len(innerAfter)
		size = proto.Size(m.Interface()) // again, as a lazy field may have another length once it is decoded
	}
	var low, high some
	if size != protowire.SizeTag(fd.Number())+protowire.SizeBytes(n) { // m has other fields
		low, high = divide(m, fd)
	}
	if before, err = low.encode(before); err != nil {
		return nil, nil, err
	}
	before = protowire.AppendTag(before, fd.Number(), protowire.BytesType)
	before = append(protowire.AppendVarint(before, uint64(n)), innerBefore...)
	after, err = high.encode(innerAfter)
	return before, after, err
}

// some has some of the fields of a message, and shares their values with it. Its Message is nil if
// there are none.
type some struct{ protoreflect.Message }

// divide returns the fields of m with lower and with higher numbers than fd has.
func divide(m protoreflect.Message, fd protoreflect.FieldDescriptor) (low, high some) {
	m.Range(func(other protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case other.Number() < fd.Number():
			low.of(m).Set(other, v)
		case other.Number() > fd.Number():
			high.of(m).Set(other, v)
		}
		return true
	})
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		high.of(m).SetUnknown(unknown)
	}
	return low, high
}

func (s *some) of(m protoreflect.Message) protoreflect.Message {
	if s.Message == nil {
		s.Message = m.New()
	}
	return s.Message
}

// encode appends the fields to b.
func (s some) encode(b []byte) ([]byte, error) {
	if s.Message == nil {
		return b, nil
	}
	return proto.MarshalOptions{AllowPartial: true}.MarshalAppend(b, s.Interface())
}
