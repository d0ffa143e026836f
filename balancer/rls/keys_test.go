// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/balancer"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/grpc/metadata"
)

func TestKeys(t *testing.T) {
	builders, err := newKeyBuilders([]*lookuppb.GrpcKeyBuilder{
		{
			Names:        []*lookuppb.GrpcKeyBuilder_Name{{Service: "p.S", Method: "M"}},
			Headers:      []*lookuppb.NameMatcher{{Key: "k", Names: []string{"H1", "h2"}}, {Key: "l", Names: []string{"h3"}}},
			ExtraKeys:    &lookuppb.GrpcKeyBuilder_ExtraKeys{Host: "host", Service: "service", Method: "method"},
			ConstantKeys: map[string]string{"c": "v"},
		},
		{Names: []*lookuppb.GrpcKeyBuilder_Name{{Service: "p.S"}, {Service: "p.T"}}, Headers: []*lookuppb.NameMatcher{{Key: "k", Names: []string{"h1"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method string
		md     metadata.MD
		want   map[string]string
		text   string
	}{
		{"/p.S/M", metadata.Pairs("h2", "2", "h3", "a", "h3", "b"), map[string]string{"k": "2", "l": "a,b", "host": "h", "service": "p.S", "method": "M", "c": "v"}, `c=v,host=h,k=2,l=a\,b,method=M,service=p.S`},
		{"/p.S/M", metadata.Pairs("h2", "2", "h1", "1"), map[string]string{"k": "1", "host": "h", "service": "p.S", "method": "M", "c": "v"}, "c=v,host=h,k=1,method=M,service=p.S"},
		{"/p.S/N", metadata.Pairs("h1", "1"), map[string]string{"k": "1"}, "k=1"},
		{"/p.T/M", nil, map[string]string{}, ""},
		{"/p.U/M", metadata.Pairs("h1", "1"), map[string]string{}, ""},
	} {
		got := builders.build(balancer.PickInfo{FullMethodName: tt.method, Ctx: metadata.NewOutgoingContext(t.Context(), tt.md)}, "h")
		if diff := cmp.Diff(tt.want, keyMap(got)); diff != "" || text(got) != tt.text {
			t.Errorf("%s %v: %s %s", tt.method, tt.md, text(got), diff)
		}
	}
	if text([]rpcKey{{"a", "b,c=d"}}) == text([]rpcKey{{"a", "b"}, {"c", "d"}}) {
		t.Error("different keys look alike")
	}
}

// TestKeysOfRPCsThatWait: RPCs that wait for answers build their keys again with each answer, also to other keys.
func TestKeysOfRPCsThatWait(t *testing.T) {
	builders, err := newKeyBuilders([]*lookuppb.GrpcKeyBuilder{{
		Names:        []*lookuppb.GrpcKeyBuilder_Name{{Service: "p.S"}},
		Headers:      []*lookuppb.NameMatcher{{Key: "k", Names: []string{"h1"}}},
		ExtraKeys:    &lookuppb.GrpcKeyBuilder_ExtraKeys{Host: "host", Service: "service", Method: "method"},
		ConstantKeys: map[string]string{"c": "v"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	md := metadata.Pairs("h1", "1", "h2", "2", "h3", "3", "h4", "4")
	info := balancer.PickInfo{FullMethodName: "/p.S/M", Ctx: metadata.NewOutgoingContext(t.Context(), md)}
	if n := testing.AllocsPerRun(100, func() { text(builders.build(info, "h")) }); n > 3 {
		t.Errorf("%v allocations, want those of the keys, of a header's values, and of the text", n)
	}
}
