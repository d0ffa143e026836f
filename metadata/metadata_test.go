// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/metadata"
)

func TestConstructors(t *testing.T) {
	want := metadata.MD{"a": {"1", "2"}, "b-bin": {"\x00"}}
	if d := cmp.Diff(want, metadata.Pairs("A", "1", "b-Bin", "\x00", "a", "2")); d != "" {
		t.Errorf("Pairs (-want +got):\n%s", d)
	}
	if d := cmp.Diff(metadata.MD{"a": {"1"}}, metadata.New(map[string]string{"A": "1"})); d != "" {
		t.Errorf("New (-want +got):\n%s", d)
	}
	joined := metadata.Join(metadata.MD{"a": {"1"}}, nil, metadata.MD{"a": {"2"}, "A": {"3"}}, metadata.MD{"b-bin": {"\x00"}})
	want["A"] = []string{"3"}
	if d := cmp.Diff(want, joined); d != "" {
		t.Errorf("Join (-want +got):\n%s", d)
	}
	if d := cmp.Diff(metadata.MD{}, metadata.Join()); d != "" {
		t.Errorf("Join of nothing (-want +got):\n%s", d)
	}
}

func TestOddPairsPanic(t *testing.T) {
	odd := []string{"a"}
	for name, f := range map[string]func(){
		"Pairs":  func() { metadata.Pairs(odd...) },
		"Append": func() { metadata.AppendToOutgoingContext(t.Context(), odd...) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes an odd number", name)
				}
			}()
			f()
		}()
	}
}

// TestString has metadata printed as programs log it: no value that may be a secret shows.
func TestString(t *testing.T) {
	for _, tt := range []struct {
		md   metadata.MD
		want string
	}{
		{nil, "map[]"},
		{metadata.Pairs("authorization", "Bearer secret", "te", "trailers", "Grpc-Status", "0"), "map[grpc-status:[0] te:[trailers] <1 redacted>]"},
		{metadata.Pairs("b", "2", "a", "1", "a", "3"), "map[<2 redacted>]"},
		{metadata.Pairs("user-agent", "1", "user-agent", "2"), "map[user-agent:[1 2]]"},
		{metadata.MD{"Content-Type": {"x"}}, "map[Content-Type:[x]]"},
	} {
		for _, got := range []string{tt.md.String(), fmt.Sprint(tt.md), fmt.Sprintf("%v %+v", tt.md, tt.md)[len(tt.want)+1:]} {
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		}
	}
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "secret"))
	if s := fmt.Sprint(metadata.AppendToOutgoingContext(ctx, "authorization", "secret")); strings.Contains(s, "secret") {
		t.Errorf("a context prints as %s", s)
	}
}

func TestMethods(t *testing.T) {
	md := metadata.MD{}
	md.Set("Key", "1")
	md.Set("key") // without values: nothing
	md.Append("KEY", "2")
	md.Append("other")
	if got := md.Get("kEy"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("Get: %q", got)
	}
	if md.Len() != 1 {
		t.Errorf("Len: %d", md.Len())
	}
	md.Delete("KeY")
	if md.Len() != 0 || md.Get("key") != nil {
		t.Errorf("Delete leaves %v", md)
	}
	if k, v, err := metadata.DecodeKeyValue("K", "v"); k != "K" || v != "v" || err != nil {
		t.Error("DecodeKeyValue changes something")
	}
}

func TestCopySharesNothing(t *testing.T) {
	md := metadata.MD{"a": {"1"}, "b": {"2", "3"}, "c": {}, "d": nil}
	c := md.Copy()
	if !maps.EqualFunc(md, c, slices.Equal[[]string]) {
		t.Fatalf("copy is %v", c)
	}
	// The values are in one array: appending to a key must not reach the next one.
	for k := range c {
		c[k] = append(c[k], "x")
	}
	for k := range c {
		c[k][0] = "changed"
	}
	if d := cmp.Diff(metadata.MD{"a": {"1"}, "b": {"2", "3"}, "c": {}, "d": nil}, md); d != "" {
		t.Errorf("the original changed (-want +got):\n%s", d)
	}
	for k, want := range map[string]int{"a": 2, "b": 3, "c": 1, "d": 1} {
		if len(c[k]) != want || c[k][want-1] != "x" && want > 1 {
			t.Errorf("c[%s] = %q", k, c[k])
		}
	}
}

func TestIncoming(t *testing.T) {
	ctx := t.Context()
	if md, ok := metadata.FromIncomingContext(ctx); ok || md != nil {
		t.Errorf("without: %v %v", md, ok)
	}
	if v := metadata.ValueFromIncomingContext(ctx, "a"); v != nil {
		t.Errorf("without: %q", v)
	}
	orig := metadata.MD{"Upper": {"1"}, "a": {"2"}}
	ctx = metadata.NewIncomingContext(ctx, orig)
	md, ok := metadata.FromIncomingContext(ctx)
	if d := cmp.Diff(metadata.MD{"upper": {"1"}, "a": {"2"}}, md); d != "" || !ok {
		t.Errorf("%v (-want +got):\n%s", ok, d)
	}
	md["a"][0] = "changed"
	for _, key := range []string{"a", "A"} {
		v := metadata.ValueFromIncomingContext(ctx, key)
		if !slices.Equal(v, []string{"2"}) {
			t.Errorf("%s: %q", key, v)
		}
		v[0] = "changed"
	}
	if v := metadata.ValueFromIncomingContext(ctx, "upper"); !slices.Equal(v, []string{"1"}) {
		t.Errorf("upper: %q", v)
	}
	if v := metadata.ValueFromIncomingContext(ctx, "none"); v != nil {
		t.Errorf("none: %q", v)
	}
	if orig["a"][0] != "2" {
		t.Error("the original changed")
	}
}

func TestIncomingKeysThatDifferInCase(t *testing.T) {
	ctx := metadata.NewIncomingContext(t.Context(), metadata.MD{"A": {"1"}, "a": {"2"}})
	md, _ := metadata.FromIncomingContext(ctx)
	got := slices.Sorted(slices.Values(md["a"]))
	if len(md) != 1 || !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("%v", md)
	}
}

// lazy is what a transport puts into a context.
type lazy struct {
	built  int
	values map[string][]string
}

func (l *lazy) IncomingMD() map[string][]string {
	l.built++
	return maps.Clone(l.values)
}

type lazyWithValues struct{ lazy }

func (l *lazyWithValues) Values(key string) []string { return slices.Clone(l.values[key]) }

func TestLazyIncoming(t *testing.T) {
	plain := &lazy{values: map[string][]string{"a": {"1"}}}
	full := &lazyWithValues{lazy{values: map[string][]string{"a": {"1"}}}}
	for _, l := range []ctxkey.LazyMD{plain, full} {
		ctx := context.WithValue(t.Context(), ctxkey.IncomingMetadata{}, l)
		if v := metadata.ValueFromIncomingContext(ctx, "A"); !slices.Equal(v, []string{"1"}) {
			t.Errorf("%T: %q", l, v)
		}
		if md, ok := metadata.FromIncomingContext(ctx); !ok || !slices.Equal(md["a"], []string{"1"}) {
			t.Errorf("%T: %v %v", l, md, ok)
		}
		inner := metadata.NewIncomingContext(ctx, metadata.MD{"b": {"2"}})
		if md, _ := metadata.FromIncomingContext(inner); len(md) != 1 || md["b"] == nil {
			t.Errorf("%T: replaced by %v", l, md)
		}
	}
	if plain.built != 2 || full.built != 1 {
		t.Errorf("maps built: %d, %d; want 2, 1", plain.built, full.built)
	}
}

func TestOutgoing(t *testing.T) {
	if md, ok := metadata.FromOutgoingContext(t.Context()); ok || md != nil {
		t.Errorf("without: %v %v", md, ok)
	}
	if v := metadata.ValueFromOutgoingContext(t.Context(), "a"); v != nil {
		t.Errorf("without: %q", v)
	}
	kv := []string{"A", "2", "b", "x"}
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{"A": {"1"}})
	ctx = metadata.AppendToOutgoingContext(ctx, kv...)
	kv[1] = "changed" // the arguments are the caller's
	ctx = context.WithValue(ctx, ctxkey.Peer{}, "in between")
	ctx = metadata.AppendToOutgoingContext(ctx, "a", "3")

	want := metadata.MD{"a": {"1", "2", "3"}, "b": {"x"}}
	md, ok := metadata.FromOutgoingContext(ctx)
	if d := cmp.Diff(want, md); d != "" || !ok {
		t.Errorf("%v (-want +got):\n%s", ok, d)
	}
	md["a"][0] = "changed"
	for _, key := range []string{"a", "A"} {
		if v := metadata.ValueFromOutgoingContext(ctx, key); !slices.Equal(v, want["a"]) {
			t.Errorf("%s: %q", key, v)
		}
	}
	ctx = metadata.NewOutgoingContext(ctx, metadata.MD{"c": {"only"}})
	md, _ = metadata.FromOutgoingContext(ctx)
	if d := cmp.Diff(metadata.MD{"c": {"only"}}, md); d != "" {
		t.Errorf("replaced (-want +got):\n%s", d)
	}
}

func TestSiblings(t *testing.T) {
	parent := metadata.AppendToOutgoingContext(t.Context(), "k", "parent")
	var children []context.Context
	for i := range 10 {
		children = append(children, metadata.AppendToOutgoingContext(parent, "k", strconv.Itoa(i)))
	}
	for i, ctx := range children {
		want := []string{"parent", strconv.Itoa(i)}
		if got := metadata.ValueFromOutgoingContext(ctx, "k"); !slices.Equal(got, want) {
			t.Errorf("child %d: %q", i, got)
		}
	}
	if got := metadata.ValueFromOutgoingContext(parent, "k"); !slices.Equal(got, []string{"parent"}) {
		t.Errorf("parent: %q", got)
	}
}

func TestOutgoingRange(t *testing.T) {
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{"K": {"1", "2"}})
	ctx = metadata.AppendToOutgoingContext(ctx, "K", "3", "l", "4")
	o := ctxkey.OutgoingFrom(ctx)
	for limit := range 6 {
		var got []string
		whole := o.Range(func(k, v string) bool {
			got = append(got, k+v)
			return len(got) <= limit
		})
		want := []string{"K1", "K2", "k3", "l4"}[:min(limit+1, 4)]
		if !slices.Equal(got, want) || whole != (limit >= 4) {
			t.Errorf("stopping after %d: %q %v", limit, got, whole)
		}
	}
	if o.Empty() || !ctxkey.OutgoingFrom(t.Context()).Empty() {
		t.Error("Empty is wrong")
	}
	if empty := metadata.NewOutgoingContext(t.Context(), nil); !ctxkey.OutgoingFrom(empty).Empty() {
		t.Error("a nil MD is not empty")
	}
}

// A context of ours in the chain must not cost the context package a goroutine, nor
// hide what is above it.
func TestOutgoingContextIsTransparent(t *testing.T) {
	type key struct{}
	parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	ctx := metadata.AppendToOutgoingContext(parent, "secret", "s")
	child, cancelChild := context.WithCancel(ctx)
	defer cancelChild()
	if ctx.Value(key{}) != "value" {
		t.Error("hides a value")
	}
	cancel(context.DeadlineExceeded)
	<-child.Done()
	if context.Cause(child) != context.DeadlineExceeded {
		t.Errorf("cause: %v", context.Cause(child))
	}
}
