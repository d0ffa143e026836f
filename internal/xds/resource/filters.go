// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/protobuf/types/known/anypb"
)

// Filter is one filter of a chain of HTTP filters.
type Filter struct {
	// Name is the name of the instance, to which overrides refer.
	Name   string
	Kind   httpfilter.Kind
	Config httpfilter.Config
	// Disabled says that the filter does nothing unless there is an override.
	Disabled bool
}

// Overrides are configurations that replace a filter's own, by the name of the instance. Nil
// means that there are none.
type Overrides map[string]Override

// Override is one of Overrides. If Kind is not nil, it applies only to a filter of that kind.
type Override struct {
	Kind   httpfilter.Kind
	Config httpfilter.Config
}

// Of returns the configuration that overrides the filter's, or nil if there is none.
func (o Overrides) Of(f *Filter) httpfilter.Config {
	if v, ok := o[f.Name]; ok && (v.Kind == nil || v.Kind == f.Kind) {
		return v.Config
	}
	return nil
}

// readFilters parses a chain. The chain must end with a terminal filter, and have no other
// terminal filter.
func readFilters(c *Context, list []*hcmv3.HttpFilter, side httpfilter.Side) ([]Filter, error) {
	if len(list) == 0 {
		return nil, wrong("http_filters", "empty")
	}
	var out []Filter
	names := make(map[string]bool)
	for i, in := range list {
		name := in.GetName()
		if name == "" {
			return nil, atIndex("http_filters", i, errors.New("name is empty"))
		}
		if names[name] {
			return nil, atIndex("http_filters", i, fmt.Errorf("name %q is there twice", name))
		}
		names[name] = true
		f, err := readFilter(c, in, side)
		if err != nil {
			return nil, atIndex("http_filters", i, err)
		}
		if f == nil {
			continue
		}
		out = append(out, *f)
	}
	for i := range out {
		if out[i].Kind.Terminal() && i < len(out)-1 {
			return nil, wrong("http_filters", "%q is a terminal filter, but not the last one", out[i].Name)
		}
	}
	if len(out) == 0 || !out[len(out)-1].Kind.Terminal() {
		return nil, wrong("http_filters", "the last one is no terminal filter, such as the router")
	}
	return out, nil
}

// readFilter returns nil for an optional filter that is not known or not supported on this
// side.
func readFilter(c *Context, in *hcmv3.HttpFilter, side httpfilter.Side) (*Filter, error) {
	if in.GetTypedConfig() == nil {
		return nil, wrong("typed_config", "missing")
	}
	kind, m, err := c.filters().Find(in.GetTypedConfig())
	switch {
	case httpfilter.IsUnknown(err) && in.GetIsOptional():
		return nil, nil
	case err != nil:
		return nil, at("typed_config", err)
	case kind.Sides()&side == 0 && in.GetIsOptional():
		return nil, nil
	case kind.Sides()&side == 0:
		return nil, wrong("typed_config", "filter %q is not supported on this side", m.Type)
	}
	config, err := kind.Parse(m)
	if err != nil {
		return nil, at("typed_config", err)
	}
	return &Filter{Name: in.GetName(), Kind: kind, Config: config, Disabled: in.GetDisabled()}, nil
}

// readOverrides parses a typed_per_filter_config.
func readOverrides(c *Context, in map[string]*anypb.Any) (Overrides, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make(Overrides, len(in))
	for name, m := range in {
		kind, config, err := c.filters().Override(m)
		if err != nil {
			return nil, atIndex("typed_per_filter_config", name, err)
		}
		if kind != nil || config != nil {
			out[name] = Override{kind, config}
		}
	}
	return out, nil
}

// Client returns what a filter does to a client's RPCs, or nil if it does nothing. i has what
// the filter does not know itself; its Override must come from OverrideOf.
func (f *Filter) Client(i httpfilter.Instance) rpcconfig.Interceptor {
	if kind, ok := f.Kind.(httpfilter.ClientKind); ok && f.enabled(&i) {
		i.Name, i.Config = f.Name, f.Config
		return kind.Client(i)
	}
	return nil
}

func (f *Filter) enabled(i *httpfilter.Instance) bool {
	_, off := i.Override.(httpfilter.Disabled)
	return !off && (i.Override != nil || !f.Disabled)
}

// Server is like Client for a server's RPCs.
func (f *Filter) Server(i httpfilter.Instance) rpcconfig.Filter {
	if kind, ok := f.Kind.(httpfilter.ServerKind); ok && f.enabled(&i) {
		i.Name, i.Config = f.Name, f.Config
		return kind.Server(i)
	}
	return nil
}
