// SPDX-License-Identifier: Apache-2.0

// Package unknown finds fields of a message that this program does not know. In a security policy
// such fields must not be ignored: a check that a newer field asks for would be missing without
// notice.
package unknown

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Field returns an error that names the first unknown field of a message, or of a message within
// it. It returns nil if all fields are known. It does not look into Any messages.
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
