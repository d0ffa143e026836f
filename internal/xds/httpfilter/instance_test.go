// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"context"
	"testing"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// TestMemory: what is asked for in each version stays, the rest goes.
func TestMemory(t *testing.T) {
	made := 0
	get := func(m *Memory, name string) *int {
		return Kept(m, name, func() *int {
			made++
			return &made
		})
	}
	m := &Memory{}
	get(m, "a")
	get(m, "b")
	get(m, "a")
	if made != 2 {
		t.Errorf("made %d", made)
	}
	m.Renew()
	get(m, "a")
	if made != 2 {
		t.Errorf("made %d", made)
	}
	m.Renew()
	get(m, "a")
	get(m, "b")
	if made != 3 {
		t.Errorf("made %d", made)
	}
	if s := Kept(m, "a", func() string { return "other type" }); s != "other type" {
		t.Error(s)
	}
	get(nil, "a")
	if made != 4 {
		t.Errorf("made %d", made)
	}
}

// TestKeptWhileMade: what makes a value may ask for others. If two are made, the one that is kept first stays, and the other
// one is closed.
func TestKeptWhileMade(t *testing.T) {
	m := &Memory{}
	var first, second, other int
	get := func(n *int, name string) closing { return Kept(m, name, func() closing { return closing{n} }) }
	got := Kept(m, "a", func() closing {
		get(&other, "b")
		get(&first, "a")
		return closing{&second}
	})
	if got.n != &first || first != 0 || second != 1 || other != 0 {
		t.Errorf("the second one: %t; closed %d, %d and %d times", got.n == &second, first, second, other)
	}
}

// closing counts what is closed.
type closing struct{ n *int }

func (c closing) Close() error {
	*c.n++
	return nil
}

// TestMemoryCloses: what is forgotten is closed, once.
func TestMemoryCloses(t *testing.T) {
	var a, b int
	m := &Memory{}
	get := func(n *int, name string) { Kept(m, name, func() closing { return closing{n} }) }
	get(&a, "a")
	get(&b, "b")
	m.Renew()
	get(&a, "a")
	m.Settle()
	if a != 0 || b != 1 {
		t.Errorf("closed %d and %d times; want 0 and 1", a, b)
	}
	m.Renew()
	m.Renew()
	if a != 1 {
		t.Errorf("closed %d times; want 1", a)
	}
	get(&a, "a")
	called := 0
	m.AtEnd(func() { called++ })
	m.AtEnd(func() { called += 10 })()
	m.Close()
	if a != 2 || b != 1 || called != 1 {
		t.Errorf("closed %d and %d times, called %d; want 2, 1 and 1", a, b, called)
	}
	(*Memory)(nil).AtEnd(nil)()
	late := 0
	m.AtEnd(func() { late++ })()
	if late != 1 {
		t.Errorf("after Close, called %d times", late)
	}
}

func TestA41Server(t *testing.T) {
	parse := func(text string) Config {
		t.Helper()
		c, err := RBAC{}.Parse(message(t, &rbacv3.RBAC{}, text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const rule = `policies { key: "p" value { permissions { url_path { path { exact: "/s/m" } } } principals { any: true } } }`
	allow := RBAC{}.Server(Instance{Config: parse(`rules { ` + rule + ` }`)})
	ctx := metadata.NewIncomingContext(peer.NewContext(t.Context(), &peer.Peer{}), metadata.MD{})
	for _, tt := range []struct {
		ctx    context.Context
		method string
		want   codes.Code
	}{{ctx, "/s/m", codes.OK}, {ctx, "/s/n", codes.PermissionDenied}, {t.Context(), "/s/m", codes.Internal}} {
		if _, err := allow(tt.ctx, tt.method); status.Code(err) != tt.want {
			t.Errorf("%s: %v", tt.method, err)
		}
	}
	for name, i := range map[string]Instance{
		"no rules": {Config: parse(``)},
		"LOG":      {Config: parse(`rules { action: LOG }`)},
		"override": {Config: parse(`rules { ` + rule + ` }`), Override: parse(``)},
	} {
		if f := (RBAC{}).Server(i); f != nil {
			t.Errorf("%s: a filter that does nothing", name)
		}
	}
}
