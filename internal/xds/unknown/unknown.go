// SPDX-License-Identifier: Apache-2.0

// Package unknown finds what a message says that this program does not know. A security decision
// that is not understood must not be skipped: a check of a newer field would be missing, and
// nobody would hear of it.
package unknown

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Field returns an error that names the first field of the message, or of one within it, that its
// type does not have; nil if all are known. What an Any holds is not looked into.
func Field(m protoreflect.ProtoMessage) error { return in(m.ProtoReflect()) }

func in(m protoreflect.Message) (err error) {
	if raw := m.GetUnknown(); len(raw) > 0 {
		number, _, _ := protowire.ConsumeTag(raw)
		return fmt.Errorf("%s has field %d, which is not known", m.Descriptor().Name(), number)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		err = within(f, v)
		return err == nil
	})
	return err
}

func within(f protoreflect.FieldDescriptor, v protoreflect.Value) (err error) {
	switch {
	case f.IsMap():
		if f.MapValue().Message() == nil {
			return nil
		}
		v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
			err = in(v.Message())
			return err == nil
		})
		return err
	case f.Message() == nil:
		return nil
	case f.IsList():
		for i := range v.List().Len() {
			if err := in(v.List().Get(i).Message()); err != nil {
				return err
			}
		}
		return nil
	default:
		return in(v.Message())
	}
}
