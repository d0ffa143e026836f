// SPDX-License-Identifier: Apache-2.0

package csm

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats/opentelemetry/internal/plugin"
)

func keyOf(values map[string]string) string { return newExchange(workload{values: values}).metadata[1] }

// TestLabelsAreBounded: what a peer tells makes no label longer than a name can be, and counts as nothing where
// there is more of it than an end has to tell.
func TestLabelsAreBounded(t *testing.T) {
	x := newExchange(workload{})
	for n, want := range map[int]bool{1: true, maxLabel: true, maxLabel + 1: false, 2 << 10: false} {
		service := strings.Repeat("s", n)
		labels := x.Labels(keyOf(map[string]string{"type": compute, "canonical_service": service, "location": "l"}))
		if !want {
			service = unknown
		}
		for _, l := range []plugin.Label{
			{Name: "csm.remote_workload_canonical_service", Value: service}, {Name: "csm.remote_workload_location", Value: "l"},
		} {
			if !slices.Contains(labels, l) {
				t.Errorf("%d bytes: no %v in %v", n, l, labels)
			}
		}
	}
	for n, want := range map[int]bool{0: false, 1: true, maxTold: true, maxTold + 1: false, 8 << 20: false} {
		if key := x.Key(metadata.MD{metadataKey: {strings.Repeat("A", n), "AA"}}); (key != "") != want {
			t.Errorf("of %d bytes %d are looked at", n, len(key))
		}
	}
}

// TestToldMakesLittle: fields that no label is made of make no objects.
func TestToldMakesLittle(t *testing.T) {
	values := map[string]string{"type": compute, "canonical_service": "s"}
	for i := range 200 {
		values[fmt.Sprint("f", i)] = "x"
	}
	key := keyOf(values)
	if len(key) > maxTold {
		t.Fatalf("%d bytes", len(key))
	}
	if n := testing.AllocsPerRun(100, func() { parseTold(key) }); n > 10 {
		t.Errorf("%.0f allocations for %d bytes", n, len(key))
	}
}

// FuzzTold holds what is read against the message as protobuf reads it.
func FuzzTold(f *testing.F) {
	for _, values := range []map[string]string{
		{}, {"type": "t", "canonical_service": ""}, {"type": kubernetes, "location": "l", "other": "o"}, {"type": strings.Repeat("x", 300)},
	} {
		raw, err := base64.RawStdEncoding.DecodeString(keyOf(values))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := parseTold(base64.RawStdEncoding.EncodeToString(raw))
		for name, value := range got {
			if !named[name] || len(value) > maxLabel {
				t.Errorf("%q: %d bytes", name, len(value))
			}
		}
		s := &structpb.Struct{}
		if proto.Unmarshal(raw, s) != nil {
			return
		}
		for name, v := range s.GetFields() {
			text, ok := v.GetKind().(*structpb.Value_StringValue)
			if ok && named[name] && len(text.StringValue) <= maxLabel && got[name] != text.StringValue {
				t.Errorf("%q: %q, want %q", name, got[name], text.StringValue)
			}
		}
	})
}

// Ends in other languages pad what they send.
func TestToldIsPadded(t *testing.T) {
	seen := make(map[int]bool)
	for n := range 3 {
		raw, err := base64.RawStdEncoding.DecodeString(keyOf(map[string]string{"type": strings.Repeat("t", 1+n)}))
		if err != nil {
			t.Fatal(err)
		}
		seen[len(raw)%3] = true
		if told := parseTold(base64.StdEncoding.EncodeToString(raw)); len(told["type"]) != 1+n {
			t.Errorf("%d bytes: %v", len(raw), told)
		}
	}
	if len(seen) != 3 {
		t.Errorf("lengths modulo 3: %v", seen)
	}
}
