// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// field describes a field of a message that a test makes up.
func field(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type, label descriptorpb.FieldDescriptorProto_Label) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: &kind, Label: &label}
	if kind == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE {
		f.TypeName = proto.String(".t.M")
	}
	return f
}

// madeUp is a message with a field of each sort that may hold much.
var madeUp = func() protoreflect.MessageDescriptor {
	const (
		optional = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
		repeated = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		octets   = descriptorpb.FieldDescriptorProto_TYPE_BYTES
		text     = descriptorpb.FieldDescriptorProto_TYPE_STRING
		message  = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
		number   = descriptorpb.FieldDescriptorProto_TYPE_UINT64
	)
	m := &descriptorpb.DescriptorProto{Name: proto.String("M"), Field: []*descriptorpb.FieldDescriptorProto{
		field("number", 1, number, optional), field("octets", 2, octets, optional), field("inner", 3, message, optional),
		field("list", 4, octets, repeated), field("inners", 5, message, repeated), field("text", 6, text, optional),
		field("one_octets", 7, octets, optional), field("one_inner", 8, message, optional), field("more", 9, octets, optional),
	}, OneofDecl: []*descriptorpb.OneofDescriptorProto{{Name: proto.String("one")}}}
	m.Field[6].OneofIndex, m.Field[7].OneofIndex = proto.Int32(0), proto.Int32(0)
	strict := &descriptorpb.DescriptorProto{Name: proto.String("Strict"), Field: []*descriptorpb.FieldDescriptorProto{
		field("octets", 2, octets, optional), field("needed", 3, number, descriptorpb.FieldDescriptorProto_LABEL_REQUIRED),
	}}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("t.proto"), Package: proto.String("t"), MessageType: []*descriptorpb.DescriptorProto{m, strict},
	}, nil)
	if err != nil {
		panic(err)
	}
	return file.Messages().ByName("M")
}()

// randomFields are some fields of madeUp in wire format, of about size bytes.
func randomFields(rnd *rand.Rand, size, depth int) []byte {
	var b []byte
	for n := rnd.IntN(5); n > 0; n-- {
		b = append(b, randomField(rnd, rnd.IntN(40), depth)...)
	}
	if size > 0 {
		b = append(b, randomField(rnd, size, depth)...)
	}
	for n := rnd.IntN(3); n > 0; n-- {
		b = append(b, randomField(rnd, rnd.IntN(40), depth)...)
	}
	return b
}

func randomField(rnd *rand.Rand, size, depth int) []byte {
	value := make([]byte, size)
	for i := 0; i < size; i += 97 {
		value[i] = byte('a' + rnd.IntN(26))
	}
	switch num := protowire.Number(1 + rnd.IntN(11)); num {
	case 1, 11: // 11 is unknown
		return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), rnd.Uint64())
	case 3, 5, 8:
		if depth == 0 {
			value = nil
		} else {
			value = randomFields(rnd, size, depth-1)
		}
		fallthrough
	default:
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), value)
	}
}

// within reports whether b lies in the memory of all.
func within(b, all []byte) bool {
	if len(b) == 0 {
		return false
	}
	at, start := uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&all[:1][0]))
	return at >= start && at < start+uintptr(cap(all))
}

// kept are the bytes fields of m that lie in data, at any depth.
func kept(m protoreflect.Message, data []byte) (list [][]byte) {
	look := func(f protoreflect.FieldDescriptor, v protoreflect.Value) {
		switch {
		case f.Kind() == protoreflect.MessageKind:
			list = append(list, kept(v.Message(), data)...)
		case f.Kind() == protoreflect.BytesKind && within(v.Bytes(), data):
			list = append(list, v.Bytes())
		}
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !f.IsList() {
			look(f, v)
			return true
		}
		for i := range v.List().Len() {
			look(f, v.List().Get(i))
		}
		return true
	})
	return list
}

// TestOwnRandom: what keeps its memory decodes as what does not, and only one field lies in the memory,
// which is little longer.
func TestOwnRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 40))
	owns := 0
	for range 300 {
		wire := randomFields(rnd, ownFrom+rnd.IntN(20000), 3)
		if rnd.IntN(10) == 0 { // broken
			wire = wire[:rnd.IntN(len(wire)+1)]
		} else if rnd.IntN(10) == 0 && len(wire) > 0 {
			wire[rnd.IntN(min(len(wire), 50))] = byte(rnd.IntN(256))
		}
		want, got := dynamicpb.NewMessage(madeUp), dynamicpb.NewMessage(madeUp)
		got.Set(madeUp.Fields().ByNumber(1), protoreflect.ValueOfUint64(1)) // is reset
		wantErr := proto.Unmarshal(wire, want)
		data := make([]byte, len(wire), len(wire)+rnd.IntN(10000))
		copy(data, wire)
		owned, err := codec{}.UnmarshalOwn(data, got)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if err != nil {
			continue
		}
		if !proto.Equal(got, want) {
			t.Fatal("the messages differ")
		}
		parts := kept(got, data)
		if owned {
			owns++
		}
		if len(parts) > 1 || len(parts) == 1 && !owned {
			t.Fatalf("%d fields lie in the memory, owned is %v", len(parts), owned)
		}
		for _, p := range parts {
			if cap(data) > len(p)*6/5+1 || cap(p) != len(p) {
				t.Fatalf("%d bytes keep %d; capacity %d", len(p), cap(data), cap(p))
			}
		}
	}
	if owns < 50 {
		t.Errorf("only %d messages kept their memory", owns)
	}
}

// TestOwnGenerated is for messages of generated code.
func TestOwnGenerated(t *testing.T) {
	large := bytes.Repeat([]byte("large"), 20000)
	for i, m := range []proto.Message{wrapperspb.Bytes(large), &anypb.Any{TypeUrl: "x/y", Value: large}} {
		wire, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got := m.ProtoReflect().New().Interface()
		owned, err := codec{}.UnmarshalOwn(wire[:len(wire):len(wire)], got)
		if err != nil || !owned || !proto.Equal(m, got) || len(kept(got.ProtoReflect(), wire)) != 1 {
			t.Errorf("%d: owned %v, %v", i, owned, err)
		}
	}
	// Half of the memory, a string, and no protobuf message keep nothing.
	wire, _ := proto.Marshal(wrapperspb.Bytes(large))
	if owned, err := (codec{}).UnmarshalOwn(append(make([]byte, 0, 2*len(wire)), wire...), new(wrapperspb.BytesValue)); owned || err != nil {
		t.Error("twice the memory:", owned, err)
	}
	if owned, err := (codec{}).UnmarshalOwn(wire, new(wrapperspb.StringValue)); owned || err != nil {
		t.Error("a string:", owned, err)
	}
	if owned, err := (codec{}).UnmarshalOwn(wire, 7); owned || err == nil {
		t.Error("no message:", owned, err)
	}
}

// TestOwnRequired: a message that lacks what it must have is refused with the same error.
func TestOwnRequired(t *testing.T) {
	strict := madeUp.ParentFile().Messages().ByName("Strict")
	wire := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), make([]byte, 2*ownFrom))
	want := proto.Unmarshal(wire, dynamicpb.NewMessage(strict))
	_, err := codec{}.UnmarshalOwn(wire, dynamicpb.NewMessage(strict))
	if want == nil || fmt.Sprint(err) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", err, want)
	}
}
