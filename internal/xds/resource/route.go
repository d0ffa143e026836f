// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc/internal/xds/match"
)

// RouteConfig says to which clusters requests go.
type RouteConfig struct {
	// Name is the name of the resource.
	Name         string
	VirtualHosts []VirtualHost
	// Plugins has the configurations of policies that choose clusters, by name. Each is a list
	// of one policy, in the form of a service config.
	Plugins map[string]Plugin
}

// readPlugins sets Plugins, and returns the names of plugins that are not known and may be
// ignored.
func (c *RouteConfig) readPlugins(list []*routev3.ClusterSpecifierPlugin) (optional map[string]bool, err error) {
	for i, in := range list {
		name := in.GetExtension().GetName()
		if _, twice := c.Plugins[name]; twice || optional[name] {
			return nil, atIndex("cluster_specifier_plugins", i, fmt.Errorf("name %q is there twice", name))
		}
		plugin, err := readPlugin(in.GetExtension().GetTypedConfig())
		switch {
		case errors.Is(err, errNoPlugin) && in.GetIsOptional():
			if optional == nil {
				optional = make(map[string]bool)
			}
			optional[name] = true
			continue
		case err != nil:
			return nil, atIndex("cluster_specifier_plugins", i, at("extension.typed_config", err))
		}
		if c.Plugins == nil {
			c.Plugins = make(map[string]Plugin)
		}
		c.Plugins[name] = plugin
	}
	return optional, nil
}

// VirtualHost has the routes for some domains.
type VirtualHost struct {
	// Domains are patterns; see RouteConfig.VirtualHost.
	Domains   []string
	Routes    []Route
	Retry     *RetryPolicy // for routes that have no retry policy
	Overrides Overrides
}

// ActionKind says what happens to requests.
type ActionKind uint8

// A route has one of these actions.
const (
	// Unsupported makes requests fail.
	Unsupported ActionKind = iota
	// Forward forwards requests; only clients do that.
	Forward
	// NonForwarding handles requests; only servers do that (A36).
	NonForwarding
)

// Route applies to the requests that it matches.
type Route struct {
	Path     match.String
	Headers  []match.Header
	Fraction match.Fraction

	Action ActionKind
	// Clusters are the clusters to forward to if Plugin is empty.
	Clusters []WeightedCluster
	// Plugin is a key of RouteConfig.Plugins.
	Plugin string
	// MaxDuration limits the duration of RPCs if HasMaxDuration is set (A31); 0 means no
	// limit. Without HasMaxDuration the limit of the Listener applies.
	MaxDuration     time.Duration
	HasMaxDuration  bool
	AutoHostRewrite bool // A81
	HashPolicies    []HashPolicy
	Retry           *RetryPolicy
	Overrides       Overrides
}

// WeightedCluster is a cluster that gets a share of a route's requests.
type WeightedCluster struct {
	Name   string
	Weight uint32
	// upTo is the sum of the weights of this cluster and those before it.
	upTo      uint32
	Overrides Overrides
}

// ParseRouteConfig parses a serialized RouteConfiguration.
func ParseRouteConfig(c *Context, raw []byte) (*RouteConfig, error) {
	return parse(c, raw, &routev3.RouteConfiguration{}, readRouteConfig)
}

func readRouteConfig(c *Context, in *routev3.RouteConfiguration) (*RouteConfig, error) {
	out := &RouteConfig{Name: in.GetName()}
	optional, err := out.readPlugins(in.GetClusterSpecifierPlugins())
	if err != nil {
		return nil, err
	}
	p := routeParser{c: c, plugins: out.Plugins, optional: optional}
	for i, vh := range in.GetVirtualHosts() {
		host, err := p.virtualHost(vh)
		if err != nil {
			return nil, atIndex("virtual_hosts", i, err)
		}
		out.VirtualHosts = append(out.VirtualHosts, host)
	}
	// Plugins that no route names are not needed.
	for name := range out.Plugins {
		if !p.used[name] {
			delete(out.Plugins, name)
		}
	}
	return out, nil
}

// routeParser has the known plugins, those that may be ignored, and those that routes name.
type routeParser struct {
	c        *Context
	plugins  map[string]Plugin
	optional map[string]bool
	used     map[string]bool
}

func (p *routeParser) virtualHost(in *routev3.VirtualHost) (out VirtualHost, err error) {
	out.Domains = in.GetDomains()
	for i, d := range out.Domains {
		if !validDomain(d) {
			return out, atIndex("domains", i, fmt.Errorf("%q is no pattern for domains", d))
		}
	}
	if out.Retry, err = readRetry(in.GetRetryPolicy()); err != nil {
		return out, at("retry_policy", err)
	}
	if out.Overrides, err = readOverrides(p.c, in.GetTypedPerFilterConfig()); err != nil {
		return out, err
	}
	for i, r := range in.GetRoutes() {
		route, used, err := p.route(r)
		if err != nil {
			return out, atIndex("routes", i, err)
		}
		if used {
			out.Routes = append(out.Routes, route)
		}
	}
	return out, nil
}

// route parses a route. used is false if the route can never match, or must be ignored.
func (p *routeParser) route(in *routev3.Route) (out Route, used bool, err error) {
	m := in.GetMatch()
	if m == nil {
		return out, false, wrong("match", "missing")
	}
	if len(m.GetQueryParameters()) > 0 { // A28: gRPC has no query parameters, so the route never matches
		return out, false, nil
	}
	if err := out.readMatch(m); err != nil {
		return out, false, at("match", err)
	}
	if out.Overrides, err = readOverrides(p.c, in.GetTypedPerFilterConfig()); err != nil {
		return out, false, err
	}
	switch a := in.GetAction().(type) {
	case *routev3.Route_Route:
		out.Action = Forward
		used, err = p.forward(&out, a.Route)
		return out, used, at("route", err)
	case *routev3.Route_NonForwardingAction:
		out.Action = NonForwarding
	}
	return out, true, nil
}

func (t *Route) readMatch(in *routev3.RouteMatch) (err error) {
	if t.Path, err = match.ParsePath(in); err != nil {
		return err
	}
	for i, h := range in.GetHeaders() {
		m, err := match.ParseHeader(h)
		if err != nil {
			return atIndex("headers", i, err)
		}
		t.Headers = append(t.Headers, m)
	}
	t.Fraction = match.All
	if f := in.GetRuntimeFraction(); f != nil {
		t.Fraction, err = match.ParseFraction(f.GetDefaultValue())
	}
	return at("runtime_fraction.default_value", err)
}

// forward parses the action of a client's route. used is false if the way to choose the
// cluster is not known.
func (p *routeParser) forward(out *Route, in *routev3.RouteAction) (used bool, err error) {
	switch s := in.GetClusterSpecifier().(type) {
	case *routev3.RouteAction_Cluster:
		if s.Cluster == "" { // the route fails the requests that it matches
			out.Action = Unsupported
			return true, nil
		}
		out.Clusters = []WeightedCluster{{Name: s.Cluster, Weight: 1, upTo: 1}}
	case *routev3.RouteAction_WeightedClusters:
		if out.Clusters, err = p.weighted(s.WeightedClusters); err != nil {
			return false, at("weighted_clusters", err)
		}
	case *routev3.RouteAction_ClusterSpecifierPlugin:
		name := s.ClusterSpecifierPlugin
		if p.optional[name] {
			return false, nil
		}
		if _, ok := p.plugins[name]; !ok {
			return false, wrong("cluster_specifier_plugin", "%q is not in cluster_specifier_plugins", name)
		}
		if p.used == nil {
			p.used = make(map[string]bool)
		}
		out.Plugin, p.used[name] = name, true
	default: // A28: cluster_header, and future specifiers
		return false, nil
	}
	if err := out.readDuration(in.GetMaxStreamDuration()); err != nil {
		return false, at("max_stream_duration", err)
	}
	if out.HashPolicies, err = readHashPolicies(in.GetHashPolicy()); err != nil {
		return false, err
	}
	if out.Retry, err = readRetry(in.GetRetryPolicy()); err != nil {
		return false, at("retry_policy", err)
	}
	if p.c.trusted() && p.c.Features.AuthorityRewrite {
		out.AutoHostRewrite = in.GetAutoHostRewrite().GetValue()
	}
	return true, nil
}

func (p *routeParser) weighted(in *routev3.WeightedCluster) ([]WeightedCluster, error) {
	var out []WeightedCluster
	sum := uint64(0)
	for i, w := range in.GetClusters() {
		overrides, err := readOverrides(p.c, w.GetTypedPerFilterConfig())
		if err != nil {
			return nil, atIndex("clusters", i, err)
		}
		weight := w.GetWeight().GetValue()
		if weight == 0 {
			continue
		}
		if w.GetName() == "" {
			return nil, atIndex("clusters", i, errors.New("name is empty"))
		}
		if sum += uint64(weight); sum > math.MaxUint32 {
			return nil, wrong("clusters", "the sum of weights is above 2^32-1")
		}
		out = append(out, WeightedCluster{Name: w.GetName(), Weight: weight, upTo: uint32(sum), Overrides: overrides})
	}
	if sum == 0 {
		return nil, wrong("clusters", "none has a weight above 0")
	}
	return out, nil
}

// readDuration prefers grpc_timeout_header_max to max_stream_duration (A31).
func (t *Route) readDuration(in *routev3.RouteAction_MaxStreamDuration) error {
	d, field := in.GetGrpcTimeoutHeaderMax(), "grpc_timeout_header_max"
	if d == nil {
		d, field = in.GetMaxStreamDuration(), "max_stream_duration"
	}
	if d == nil {
		return nil
	}
	v, err := duration(d)
	t.MaxDuration, t.HasMaxDuration = v, true
	return at(field, err)
}

// validDomain accepts a name, a name with one asterisk at its beginning or end, and a single
// asterisk.
func validDomain(d string) bool {
	switch strings.Count(d, "*") {
	case 0:
		return d != ""
	case 1:
		return d[0] == '*' || d[len(d)-1] == '*'
	default:
		return false
	}
}
