// SPDX-License-Identifier: Apache-2.0

package resolver_test

import (
	"net/url"
	"testing"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"
)

func target(t *testing.T, s string) resolver.Target {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return resolver.Target{URL: *u}
}

func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		in, endpoint, text string
	}{
		{"dns:///host:1", "host:1", "dns:///host:1"},
		{"dns:host:1", "host:1", "dns:///host:1"},
		{"dns://8.8.8.8/host", "host", "dns://8.8.8.8/host"},
		{"unix:///a/b", "a/b", "unix:///a/b"},
		{"unix:a/b", "a/b", "unix:///a/b"},
		{"passthrough:///", "", "passthrough:///"},
		{"passthrough:////x", "/x", "passthrough:////x"},
		{"x://auth", "", "x://auth/"},
	} {
		target := target(t, tt.in)
		if got := target.Endpoint(); got != tt.endpoint {
			t.Errorf("%s: endpoint %q, want %q", tt.in, got, tt.endpoint)
		}
		if got := target.String(); got != tt.text {
			t.Errorf("%s: text %q, want %q", tt.in, got, tt.text)
		}
	}
}

func TestAddressEqual(t *testing.T) {
	full := func() resolver.Address {
		return resolver.Address{
			Addr:               "a",
			ServerName:         "s",
			Attributes:         attributes.New("k", 1),
			BalancerAttributes: attributes.New("b", 2),
			Metadata:           3,
		}
	}
	if !full().Equal(full()) {
		t.Error("an address is not equal to one that holds the same")
	}
	for what, change := range map[string]func(*resolver.Address){
		"Addr":               func(a *resolver.Address) { a.Addr = "x" },
		"ServerName":         func(a *resolver.Address) { a.ServerName = "x" },
		"Attributes":         func(a *resolver.Address) { a.Attributes = attributes.New("k", 9) },
		"BalancerAttributes": func(a *resolver.Address) { a.BalancerAttributes = nil },
		"Metadata":           func(a *resolver.Address) { a.Metadata = "3" },
	} {
		other := full()
		change(&other)
		if full().Equal(other) || other.Equal(full()) {
			t.Errorf("addresses that differ in %s are equal", what)
		}
	}
}

func TestAddressString(t *testing.T) {
	for _, tt := range []struct {
		a    resolver.Address
		want string
	}{
		{resolver.Address{}, `{Addr: "", ServerName: "", }`},
		{resolver.Address{Addr: "h:1"}, `{Addr: "h:1", ServerName: "", }`},
		{resolver.Address{Addr: "h:1", ServerName: "s", Metadata: 5}, `{Addr: "h:1", ServerName: "s", }`},
		{
			resolver.Address{Addr: "h:1", Attributes: attributes.New("k", "v"), BalancerAttributes: attributes.New("b", "w")},
			`{Addr: "h:1", ServerName: "", Attributes: {"k": "v" }, BalancerAttributes: {"b": "w" }}`,
		},
	} {
		if got := tt.a.String(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

func TestValidateEndpoints(t *testing.T) {
	full := resolver.Endpoint{Addresses: []resolver.Address{{Addr: "a"}}}
	for _, tt := range []struct {
		list []resolver.Endpoint
		ok   bool
	}{
		{nil, false},
		{[]resolver.Endpoint{{}, {}}, false},
		{[]resolver.Endpoint{{}, full}, true},
		{[]resolver.Endpoint{full}, true},
	} {
		if err := resolver.ValidateEndpoints(tt.list); (err == nil) != tt.ok {
			t.Errorf("%v: %v", tt.list, err)
		}
	}
}

type builder struct {
	resolver.Builder
	scheme string
}

func (b builder) Scheme() string { return b.scheme }

func TestRegistry(t *testing.T) {
	if resolver.Get("test-none") != nil {
		t.Error("a builder for a scheme that has none")
	}
	first, second := &builder{scheme: "test-registry"}, &builder{scheme: "test-registry"}
	resolver.Register(first)
	resolver.Register(second)
	if resolver.Get("test-registry") != second {
		t.Error("the last builder does not win")
	}
	if resolver.Get("Test-Registry") != nil {
		t.Error("letter case does not count")
	}
}

func TestDefaultScheme(t *testing.T) {
	if got := resolver.GetDefaultScheme(); got != "passthrough" {
		t.Errorf("default scheme %q", got)
	}
	defer resolver.SetDefaultScheme(resolver.GetDefaultScheme())
	resolver.SetDefaultScheme("mine")
	if got := resolver.GetDefaultScheme(); got != "mine" {
		t.Errorf("default scheme %q", got)
	}
}

func TestAddressEqualIncomparable(t *testing.T) {
	a := resolver.Address{Addr: "a", Metadata: []string{"x"}}
	if a.Equal(a) {
		t.Error("metadata that can't be compared is equal")
	}
	a.Metadata = "x"
	if b := a; !a.Equal(b) {
		t.Error("equal addresses are not")
	}
}
