// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// around is what MarshalAround returns, in one piece.
func around(t *testing.T, m any) (wire []byte, large int, err error) {
	t.Helper()
	head, field, tail, err := codec{}.MarshalAround(m)
	if err != nil {
		return nil, 0, err
	}
	wire = append(bytes.Clone(head.ReadOnlyData()), field...)
	head.Free()
	if tail != nil {
		wire = append(wire, tail.ReadOnlyData()...)
		tail.Free()
	}
	return wire, len(field), nil
}

// TestAroundRandom: a message that is encoded around a field of its own is the same message.
func TestAroundRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 40))
	lent := 0
	for range 300 {
		m := dynamicpb.NewMessage(madeUp)
		if proto.Unmarshal(randomFields(rnd, lendFrom-100+rnd.IntN(20000), 3), m) != nil {
			continue
		}
		wire, large, err := around(t, m)
		if err != nil {
			t.Fatal(err)
		}
		if large > 0 {
			lent++
			if large < proto.Size(m)/2 {
				t.Fatalf("%d of %d bytes are lent", large, proto.Size(m))
			}
		}
		again := dynamicpb.NewMessage(madeUp)
		if err := proto.Unmarshal(wire, again); err != nil || !proto.Equal(m, again) {
			t.Fatal("the messages differ", err)
		}
	}
	if lent < 30 {
		t.Errorf("only %d messages lent a field", lent)
	}
}

// TestAroundGenerated: the bytes are those that package proto makes, and the field is lent.
func TestAroundGenerated(t *testing.T) {
	large := bytes.Repeat([]byte("large"), 40000)
	for i, m := range []proto.Message{wrapperspb.Bytes(large), &anypb.Any{TypeUrl: "x/y", Value: large}} {
		m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 100, protowire.VarintType), 7))
		want, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if wire, n, err := around(t, m); err != nil || n != len(large) || !bytes.Equal(wire, want) {
			t.Errorf("%d: %d bytes lent, %d in all, want %d, %v", i, n, len(wire), len(want), err)
		}
	}
	for i, m := range []proto.Message{wrapperspb.Bytes(large[:100]), wrapperspb.String(string(large)), nil} {
		want, _ := proto.Marshal(m)
		if m == nil {
			continue
		}
		if wire, n, err := around(t, m); err != nil || n != 0 || !bytes.Equal(wire, want) {
			t.Errorf("%d: %d bytes lent, %v", i, n, err)
		}
	}
	if _, _, err := around(t, 7); err == nil {
		t.Error("a number is a message")
	}
}

// TestAroundErrors: what can't be encoded has the same error.
func TestAroundErrors(t *testing.T) {
	strict := madeUp.ParentFile().Messages().ByName("Strict")
	m := dynamicpb.NewMessage(strict)
	m.Set(strict.Fields().ByNumber(2), protoreflect.ValueOfBytes(make([]byte, 2*lendFrom)))
	bad := &anypb.Any{TypeUrl: "\xff", Value: make([]byte, 2*lendFrom)}
	for i, m := range []proto.Message{m, bad} {
		_, want := proto.Marshal(m)
		if _, _, err := around(t, m); want == nil || fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
}

// TestAroundTrustsNoOldSize: whether a message has other fields than that around which it is encoded is
// not told by a size from before what was to be decoded lazily was decoded, and had another length.
func TestAroundTrustsNoOldSize(t *testing.T) {
	fields := madeUp.Fields()
	number, octets, inner := fields.ByName("number"), fields.ByName("octets"), fields.ByName("inner")
	large := bytes.Repeat([]byte("large"), 40000)
	m, in := dynamicpb.NewMessage(madeUp), dynamicpb.NewMessage(madeUp)
	in.Set(octets, protoreflect.ValueOfBytes(large))
	m.Set(inner, protoreflect.ValueOfMessage(in))
	alone := proto.Size(m)
	m.Set(number, protoreflect.ValueOfUint64(7))
	want, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	before, after, err := encodeAround(nil, m, alone, []protoreflect.FieldDescriptor{inner, octets}, large)
	if err != nil || len(before)+len(large)+len(after) != len(want) {
		t.Errorf("%d bytes around the field, want %d, %v", len(before)+len(after), len(want)-len(large), err)
	}
}
