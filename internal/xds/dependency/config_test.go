// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestSame(t *testing.T) {
	l, r, h, c := &resource.Listener{}, &resource.RouteConfig{}, &resource.VirtualHost{}, &Cluster{}
	config := func() *Config {
		return &Config{Listener: l, Routes: r, Host: h, Clusters: map[string]*Cluster{"c": c}}
	}
	for name, tt := range map[string]struct {
		change func(*Config)
		want   bool
	}{
		"nothing":          {func(*Config) {}, true},
		"listener":         {func(c *Config) { c.Listener = &resource.Listener{} }, false},
		"routes":           {func(c *Config) { c.Routes = &resource.RouteConfig{} }, false},
		"virtual host":     {func(c *Config) { c.Host = &resource.VirtualHost{} }, false},
		"cluster":          {func(c *Config) { c.Clusters["c"] = &Cluster{} }, false},
		"one cluster more": {func(c *Config) { c.Clusters["d"] = &Cluster{} }, false},
		"one less":         {func(c *Config) { delete(c.Clusters, "c") }, false},
	} {
		o := config()
		tt.change(o)
		if got := config().same(o); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if (*Config)(nil).same(config()) || config().same(nil) {
		t.Error("nothing is the same as something")
	}
}

func TestSameText(t *testing.T) {
	a := errors.New("a")
	for _, tt := range []struct {
		a, b error
		want bool
	}{{nil, nil, true}, {a, nil, false}, {nil, a, false}, {a, errors.New("a"), true}, {a, errors.New("b"), false}} {
		if got := sameText(tt.a, tt.b); got != tt.want {
			t.Errorf("%v, %v: %t", tt.a, tt.b, got)
		}
	}
}

func TestAttach(t *testing.T) {
	a := &Attachment{}
	if Of(resolver.State{}) != nil || Of(Attach(resolver.State{}, a)) != a {
		t.Error("the attachment is lost")
	}
}

// known makes a manager that has heard of clusters: an aggregate is a list of others.
func known(clusters map[string][]string) *Manager {
	m := &Manager{sources: sources{clusters: make(map[string]*clusterWatch)}}
	for name, children := range clusters {
		r := &resource.Cluster{Name: name, Type: resource.LogicalDNS, DNSHostname: "dns:1"}
		if children != nil {
			r = &resource.Cluster{Name: name, Type: resource.Aggregate, Children: children}
		}
		m.clusters[name] = &clusterWatch{watch: &watch[*resource.Cluster]{agenda: &m.agenda, name: name, value: r, has: true}}
	}
	m.names = map[string]*nameWatch{"dns:1": {agenda: &m.agenda, name: "dns:1", endpoints: &resource.Endpoints{}}}
	return m
}

// TestA37Aggregates: the leaves come in order, each once, and cycles end.
func TestA37Aggregates(t *testing.T) {
	deep := map[string][]string{"leaf": nil}
	for i := range maxDepth + 2 {
		deep[fmt.Sprint("a", i)] = []string{fmt.Sprint("a", i+1)}
	}
	deep[fmt.Sprint("a", maxDepth+1)] = []string{"leaf"}
	for name, tt := range map[string]struct {
		clusters map[string][]string
		root     string
		leaves   string
		err      string
	}{
		"one":       {map[string][]string{"a": {"x"}, "x": nil}, "a", "x", ""},
		"in order":  {map[string][]string{"a": {"y", "b", "z"}, "b": {"x", "y"}, "x": nil, "y": nil, "z": nil}, "a", "y x z", ""},
		"cycle":     {map[string][]string{"a": {"b", "x"}, "b": {"a", "y"}, "x": nil, "y": nil}, "a", "y x", ""},
		"itself":    {map[string][]string{"a": {"a"}}, "a", "", "no cluster with endpoints"},
		"only each": {map[string][]string{"a": {"b"}, "b": {"a"}}, "a", "", "no cluster with endpoints"},
		"too deep":  {deep, "a0", "", "more than 16 deep"},
		"deep":      {deep, "a3", "leaf", ""},
	} {
		a := &assembly{sources: &known(tt.clusters).sources}
		c := &Config{Clusters: make(map[string]*Cluster)}
		a.addRoot(c, tt.root)
		got := c.Clusters[tt.root]
		if got == nil {
			t.Errorf("%s: it is not there", name)
			continue
		}
		if (got.Err != nil) != (tt.err != "") || got.Err != nil && !strings.Contains(got.Err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", name, got.Err, tt.err)
		}
		if !slices.Equal(got.Leaves, strings.Fields(tt.leaves)) {
			t.Errorf("%s: %v, want %v", name, got.Leaves, tt.leaves)
		}
		for _, leaf := range got.Leaves {
			if c.Clusters[leaf] == nil {
				t.Errorf("%s: leaf %s is not there", name, leaf)
			}
		}
		again := &Config{Clusters: make(map[string]*Cluster)}
		a.addRoot(again, tt.root)
		if again.Clusters[tt.root] != got {
			t.Errorf("%s: the same is another", name)
		}
	}
}
