// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/mem"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// legacy is a message as generated before there was protoreflect.
type legacy struct {
	Text string `protobuf:"bytes,1,opt,name=text,proto3"`
}

func (m *legacy) Reset()       { *m = legacy{} }
func (*legacy) String() string { return "" }
func (*legacy) ProtoMessage()  {}

func TestRegistered(t *testing.T) {
	if encoding.GetCodecV2("proto") == nil || Name != "proto" {
		t.Error("not registered as proto")
	}
}

func TestRoundTrip(t *testing.T) {
	for _, size := range []int{0, 1, 1000, 1021, 1022, 1023, 1024, 2000, 100_000} {
		in := wrapperspb.Bytes(bytes.Repeat([]byte{'x'}, size))
		data, err := codec{}.Marshal(in)
		if err != nil || len(data) != 1 {
			t.Fatalf("%d bytes: %d buffers, %v", size, len(data), err)
		}
		want, _ := proto.Marshal(in)
		if !bytes.Equal(data.Materialize(), want) {
			t.Errorf("%d bytes: encoded as something else", size)
		}
		out := wrapperspb.Bytes([]byte("old"))
		if err := (codec{}).Unmarshal(data, out); err != nil {
			t.Fatal(err)
		}
		data.Free()
		if !proto.Equal(in, out) {
			t.Errorf("%d bytes: decoded as something else", size)
		}
	}
}

func TestUnmarshalPieces(t *testing.T) {
	want := wrapperspb.String(strings.Repeat("abc", 1000))
	b, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 1, 2, 3, 1500, len(b)} {
		data := mem.BufferSlice{mem.Copy(b[:at], mem.DefaultBufferPool()), mem.Copy(b[at:], mem.DefaultBufferPool())}
		got := new(wrapperspb.StringValue)
		if err := (codec{}).Unmarshal(data, got); err != nil || !proto.Equal(got, want) {
			t.Errorf("split at %d: %v", at, err)
		}
		data.Free()
	}
	got := wrapperspb.String("old")
	if err := (codec{}).Unmarshal(nil, got); err != nil || got.Value != "" {
		t.Errorf("no buffers: %v, %q", err, got.Value)
	}
}

func TestLegacyMessages(t *testing.T) {
	data, err := codec{}.Marshal(&legacy{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Free()
	var got legacy
	if err := (codec{}).Unmarshal(data, &got); err != nil || got.Text != "hello" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

func TestErrors(t *testing.T) {
	type notAMessage struct{}
	_, err := codec{}.Marshal(&notAMessage{})
	wantError(t, err, "*proto.notAMessage")
	wantError(t, codec{}.Unmarshal(nil, &notAMessage{}), "*proto.notAMessage")
	_, err = codec{}.Marshal(nil)
	wantError(t, err, "<nil>")
	wantError(t, codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer{0xff}}, new(wrapperspb.StringValue)), "cannot parse")
	for _, size := range []int{1, 5000} { // proto3 strings are UTF-8
		_, err = codec{}.Marshal(wrapperspb.String(strings.Repeat("\xff", size)))
		wantError(t, err, "invalid UTF-8")
	}
	torn := mem.BufferSlice{mem.SliceBuffer{0x0a}, mem.SliceBuffer{0x05, 'x'}}
	wantError(t, codec{}.Unmarshal(torn, new(wrapperspb.StringValue)), "cannot parse")
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want an error that names %s", err, text)
	}
}

func FuzzUnmarshal(f *testing.F) {
	s, err := structpb.NewStruct(map[string]any{"a": []any{1, "b", map[string]any{"c": nil}}})
	if err != nil {
		f.Fatal(err)
	}
	valid, err := proto.Marshal(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid, 3)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		whole, pieces := new(structpb.Struct), new(structpb.Struct)
		at = max(0, min(at, len(b)))
		errWhole := codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, whole)
		errPieces := codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b[:at]), mem.SliceBuffer(b[at:])}, pieces)
		if (errWhole == nil) != (errPieces == nil) || !proto.Equal(whole, pieces) {
			t.Errorf("whole: %v, in pieces: %v", errWhole, errPieces)
		}
	})
}

func BenchmarkMarshal(b *testing.B) {
	for name, size := range map[string]int{"128B": 128, "8KiB": 8 << 10} {
		m := wrapperspb.Bytes(make([]byte, size))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				data, err := codec{}.Marshal(m)
				if err != nil {
					b.Fatal(err)
				}
				data.Free()
			}
		})
	}
}
