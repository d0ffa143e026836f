// SPDX-License-Identifier: Apache-2.0

package fieldtable

import (
	"slices"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// messages are a.Root, with a message a.Inner and a string, and a.Inner with a string.
func messages(t *testing.T) protoreflect.MessageDescriptors {
	t.Helper()
	field := func(name string, number int32, of string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{
			Name: proto.String(name), Number: proto.Int32(number),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
		}
		if of != "" {
			f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(of)
		}
		return f
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("a.proto"), Package: proto.String("a"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Root"), Field: []*descriptorpb.FieldDescriptorProto{field("inner", 1, ".a.Inner"), field("other", 2, "")}},
			{Name: proto.String("Inner"), Field: []*descriptorpb.FieldDescriptorProto{field("x", 1, "")}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages()
}

// TestMissing: a field is missing if its message can be reached through fields that count.
func TestMissing(t *testing.T) {
	root := (&descriptorpb.FileDescriptorProto{}).ProtoReflect().Descriptor()
	if got := make(Decisions).Missing(root); len(got) > 0 {
		t.Errorf("types of protobuf: %q", got)
	}
	for inside, want := range map[bool][]string{
		true:  {"a.Inner.x", "a.Root.other"},
		false: {"a.Root.other"},
	} {
		d := make(Decisions)
		m := messages(t)
		d.Add(m.ByName("Root"), "inner", inside)
		if got := d.Missing(m.ByName("Root")); !slices.Equal(got, want) {
			t.Errorf("inside %t: %q, want %q", inside, got, want)
		}
	}
}
