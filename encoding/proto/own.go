// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ownFrom is the size, in bytes, from which a message may keep the memory in which it arrived.
// Copying a smaller message takes less time than finding that out and replacing the memory.
const ownFrom = 64 << 10

// maxDepth is how many levels of nested messages are searched for the field that may keep the
// memory.
const maxDepth = 8

// UnmarshalOwn is like UnmarshalWhole, but v may keep data. If owned is true, v has kept it: the
// caller must not use data any more, nor the memory behind it up to its capacity.
//
// v keeps data if one bytes field takes nearly all of that memory. That field, and no other, then
// points into data. So a program that keeps the field keeps at most a fifth more memory than the
// field's size, and all other fields keep only their own memory.
func (c codec) UnmarshalOwn(data []byte, v any) (owned bool, err error) {
	m, ok := v.(proto.Message)
	if !ok || len(data) < ownFrom || unmarshalsItself(v) {
		return false, c.UnmarshalWhole(data, v)
	}
	d := ownDecoder{least: cap(data) - cap(data)/6}
	if !d.find(data, m.ProtoReflect().Descriptor()) {
		return false, c.UnmarshalWhole(data, v)
	}
	proto.Reset(m)
	if owned, err = d.decode(data, m.ProtoReflect(), d.path); err == nil {
		err = proto.CheckInitialized(m)
	}
	return owned, err
}

// unmarshalsItself reports whether v has a decoding method of its own, as messages of other code
// generators may have.
func unmarshalsItself(v any) bool {
	_, ok := v.(interface{ Unmarshal([]byte) error })
	return ok
}

// ownDecoder decodes a message of which one bytes field keeps the memory of the encoded message.
type ownDecoder struct {
	least int // the fewest bytes that the field may have
	path  []largeField
}

// largeField is the position of the field that takes nearly all bytes of a message.
type largeField struct {
	field      protoreflect.FieldDescriptor
	start      int // where the field begins, with its tag
	value, end int // where the field's value begins and ends
}

// find searches data, a message of type t, for the field that keeps the memory. It gives up after
// as many bytes as the other fields may have together.
func (d *ownDecoder) find(data []byte, t protoreflect.MessageDescriptor) bool {
	for pos := 0; len(data)-pos >= d.least; {
		num, wire, n := protowire.ConsumeTag(data[pos:])
		if n < 0 {
			return false
		}
		value := pos + n
		if wire == protowire.BytesType {
			size, k := protowire.ConsumeVarint(data[value:])
			if k < 0 || size > uint64(len(data)-value-k) {
				return false
			}
			value += k
			if int(size) >= d.least {
				return d.enter(largeField{t.Fields().ByNumber(num), pos, value, value + int(size)}, data)
			}
			pos = value + int(size)
			continue
		}
		if n = protowire.ConsumeFieldValue(num, wire, data[value:]); n < 0 {
			return false
		}
		pos = value + n
	}
	return false
}

// enter adds l, which is large enough, to the path. It reports whether l, or a field within l, can
// keep the memory.
func (d *ownDecoder) enter(l largeField, data []byte) bool {
	if l.field == nil || l.field.IsMap() || len(d.path) == maxDepth {
		return false
	}
	d.path = append(d.path, l)
	switch l.field.Kind() {
	case protoreflect.BytesKind:
		return true
	case protoreflect.MessageKind:
		return d.find(data[l.value:l.end], l.field.Message())
	}
	return false
}

// part decodes fields that do not keep the memory.
var part = proto.UnmarshalOptions{Merge: true, AllowPartial: true}

// decode adds the fields in data to m. The large field at the end of path is not copied.
func (d *ownDecoder) decode(data []byte, m protoreflect.Message, path []largeField) (owned bool, err error) {
	l := &path[0]
	if l.start > 0 {
		if err := part.Unmarshal(data[:l.start], m.Interface()); err != nil {
			return false, err
		}
	}
	owned, err = d.decodeLarge(data[l.value:l.end:l.end], m, path)
	if err == nil && l.end < len(data) {
		err = part.Unmarshal(data[l.end:], m.Interface())
	}
	return owned, err
}

// decodeLarge adds the field path[0], whose encoded value is value, to m.
func (d *ownDecoder) decodeLarge(value []byte, m protoreflect.Message, path []largeField) (owned bool, err error) {
	field := path[0].field
	if field.Kind() == protoreflect.BytesKind {
		if field.IsList() {
			m.Mutable(field).List().Append(protoreflect.ValueOfBytes(value))
		} else {
			m.Set(field, protoreflect.ValueOfBytes(value))
		}
		return true, nil
	}
	var inner protoreflect.Message
	if field.IsList() {
		inner = m.Mutable(field).List().AppendMutable().Message()
	} else {
		inner = m.Mutable(field).Message()
	}
	if unmarshalsItself(inner.Interface()) {
		return false, part.Unmarshal(value, inner.Interface())
	}
	return d.decode(value, inner, path[1:])
}
