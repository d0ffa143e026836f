// SPDX-License-Identifier: Apache-2.0

// Package extproc has the HTTP filter envoy.filters.http.ext_proc (gRFC A93, with A92's rules for headers
// and A102's for servers). With it a client sends the contents of its RPCs to another server, the external
// processor, which may change them. In this package "the server" is that server.
//
// Each RPC has its own stream to the server. All RPCs to the same server share a channel, which is closed
// when neither a filter nor an RPC needs it any more. What happens to an RPC (headers, messages, the end)
// becomes an event on the stream if the processing mode says so. The server's answers say what the RPC goes
// on with instead. Events and answers of each direction are in order.
//
// The memory for each RPC is bounded. If the server returns messages faster than the RPC takes them, the
// RPC takes no new messages of that direction, but the filter goes on reading the stream, which both
// directions share. If what the server has returned still grows, the filter stops reading, or, where the
// RPC waits for the server, treats it as a failure of the server.
//
// The filter exists if GRPC_EXPERIMENTAL_XDS_EXT_PROC_ON_CLIENT is true. There is no ext_authz filter (A92),
// whatever GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT says, and no composite filter (A103): the published
// module does not have these either. A listener with one of them is rejected unless the filter is optional.
package extproc

import (
	"errors"
	"fmt"
	"time"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc/internal/xds/grpcservice"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/internal/xds/mutation"
)

// Kind is the httpfilter.Kind of the filter.
type Kind struct{}

const (
	filterType = "envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor"
	routeType  = "envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute"
)

// Types implements httpfilter.Kind.
func (Kind) Types() []string { return []string{filterType, routeType} }

// Sides implements httpfilter.Kind.
func (Kind) Sides() httpfilter.Side { return httpfilter.Client }

// Terminal implements httpfilter.Kind.
func (Kind) Terminal() bool { return false }

// Config is the configuration of a filter.
type Config struct {
	Service *grpcservice.Service
	Mode    Mode
	// AllowFailure lets RPCs go on without the server if the server fails.
	AllowFailure bool
	// AllowOverride lets the server change the mode of an RPC. If Restricted is set, only the modes in
	// Overrides are allowed. Request.Headers is false in all of them, and does not count.
	AllowOverride bool
	Restricted    bool // the message restricts the modes; Overrides may be empty if it has none that is supported
	Overrides     []Mode
	allowed       []*filterv3.ProcessingMode // what Overrides are made of
	// RequestAttributes and ResponseAttributes are the names of the attributes to send with events.
	RequestAttributes, ResponseAttributes []string
	// Rules say which headers the server may change.
	Rules mutation.Rules
	// Forward says which headers are in the events of headers and trailers. The attributes that name
	// headers of the request do not depend on it.
	Forward Forward
	// NoImmediateResponse treats an immediate response as a failure of the server.
	NoImmediateResponse bool
	// Observe sends events to the server but does not wait for answers.
	Observe bool
	// Linger is how long the server may go on reading after the end of an RPC that it observes.
	Linger time.Duration
}

// Override is the override of a route. A nil field overrides nothing.
type Override struct {
	Service                               *grpcservice.Service
	Mode                                  *Mode
	AllowFailure                          *bool
	RequestAttributes, ResponseAttributes []string
}

// defaultLinger is the default of A93.
const defaultLinger = 5 * time.Second

// Parse implements httpfilter.Kind. The Config is a *Config.
func (Kind) Parse(m httpfilter.Message) (httpfilter.Config, error) {
	var in filterv3.ExternalProcessor
	if err := m.Unmarshal(&in); err != nil {
		return nil, err
	}
	out := &Config{
		AllowFailure: in.GetFailureModeAllow(), AllowOverride: in.GetAllowModeOverride(),
		RequestAttributes: in.GetRequestAttributes(), ResponseAttributes: in.GetResponseAttributes(),
		NoImmediateResponse: in.GetDisableImmediateResponse(), Observe: in.GetObservabilityMode(), Linger: defaultLinger,
	}
	var err error
	if out.Service, err = grpcservice.Parse(in.GetGrpcService(), m.Origin); err != nil {
		return nil, fmt.Errorf("grpc_service: %w", err)
	}
	if in.GetProcessingMode() == nil {
		return nil, errors.New("processing_mode: missing")
	}
	if out.Mode, err = parseMode(in.GetProcessingMode()); err != nil {
		return nil, fmt.Errorf("processing_mode: %w", err)
	}
	out.parseOverrides(&in)
	if out.Rules, err = mutation.ParseRules(in.GetMutationRules()); err != nil {
		return nil, fmt.Errorf("mutation_rules: %w", err)
	}
	if out.Forward, err = parseForward(in.GetForwardRules()); err != nil {
		return nil, fmt.Errorf("forward_rules: %w", err)
	}
	if d := in.GetDeferredCloseTimeout(); d != nil {
		if err := d.CheckValid(); err != nil {
			return nil, fmt.Errorf("deferred_close_timeout: %w", err)
		}
		if out.Linger = d.AsDuration(); out.Linger <= 0 {
			return nil, fmt.Errorf("deferred_close_timeout: %v is not positive", out.Linger)
		}
	}
	return out, nil
}

// parseOverrides leaves out modes that are not supported, because no RPC can have them.
func (c *Config) parseOverrides(in *filterv3.ExternalProcessor) {
	c.allowed = in.GetAllowedOverrideModes()
	c.Restricted = len(c.allowed) > 0
	c.resolveOverrides()
}

// resolveOverrides sets Overrides: each changes Mode.
func (c *Config) resolveOverrides() {
	c.Overrides = nil
	for _, m := range c.allowed {
		if mode, err := c.Mode.override(m); err == nil {
			mode.Request.Headers = false
			c.Overrides = append(c.Overrides, mode)
		}
	}
}

// ParseOverride implements httpfilter.Kind. The Config is an *Override.
func (Kind) ParseOverride(m httpfilter.Message) (httpfilter.Config, error) {
	var route filterv3.ExtProcPerRoute
	if err := m.Unmarshal(&route); err != nil {
		return nil, err
	}
	in := route.GetOverrides()
	out := &Override{RequestAttributes: in.GetRequestAttributes(), ResponseAttributes: in.GetResponseAttributes()}
	if in.GetGrpcService() != nil {
		s, err := grpcservice.Parse(in.GetGrpcService(), m.Origin)
		if err != nil {
			return nil, fmt.Errorf("overrides.grpc_service: %w", err)
		}
		out.Service = s
	}
	if in.GetProcessingMode() != nil {
		mode, err := parseMode(in.GetProcessingMode())
		if err != nil {
			return nil, fmt.Errorf("overrides.processing_mode: %w", err)
		}
		out.Mode = &mode
	}
	if v := in.GetFailureModeAllow(); v != nil {
		allow := v.GetValue()
		out.AllowFailure = &allow
	}
	return out, nil
}

// with returns c with the fields that o overrides.
func (c *Config) with(o *Override) *Config {
	out := *c
	if o.Service != nil {
		out.Service = o.Service
	}
	if o.Mode != nil {
		out.Mode = *o.Mode
		out.resolveOverrides()
	}
	if o.AllowFailure != nil {
		out.AllowFailure = *o.AllowFailure
	}
	if len(o.RequestAttributes) > 0 {
		out.RequestAttributes = o.RequestAttributes
	}
	if len(o.ResponseAttributes) > 0 {
		out.ResponseAttributes = o.ResponseAttributes
	}
	return &out
}

// change returns the mode of an RPC after the server has asked for another one with in. m is the mode
// before. ok is false if the configuration does not allow the change. The mode of request headers does not
// change, because these have already been sent.
func (c *Config) change(m Mode, in *filterv3.ProcessingMode) (out Mode, ok bool) {
	if in == nil || !c.AllowOverride {
		return m, false
	}
	out, err := m.override(in)
	if err != nil {
		return m, false
	}
	out.Request.Headers = m.Request.Headers
	if !c.Restricted {
		return out, true
	}
	compared := out
	compared.Request.Headers = false
	for _, allowed := range c.Overrides {
		if allowed == compared {
			return out, true
		}
	}
	return m, false
}

// Forward selects headers by their names.
type Forward struct {
	some     bool // only headers in allow are selected
	allow    []match.String
	disallow []match.String
}

func parseForward(in *filterv3.HeaderForwardingRules) (f Forward, err error) {
	f.some = in.GetAllowedHeaders() != nil
	if f.allow, err = parseStrings(in.GetAllowedHeaders()); err != nil {
		return Forward{}, fmt.Errorf("allowed_headers.%w", err)
	}
	if f.disallow, err = parseStrings(in.GetDisallowedHeaders()); err != nil {
		return Forward{}, fmt.Errorf("disallowed_headers.%w", err)
	}
	return f, nil
}

func parseStrings(in *matcherv3.ListStringMatcher) (list []match.String, err error) {
	for i, p := range in.GetPatterns() {
		s, err := match.ParseString(p)
		if err != nil {
			return nil, fmt.Errorf("patterns[%d]: %w", i, err)
		}
		list = append(list, s)
	}
	return list, nil
}

func (f *Forward) shows(name string) bool {
	return !matches(f.disallow, name) && (!f.some || matches(f.allow, name))
}

func matches(list []match.String, name string) bool {
	for i := range list {
		if list[i].Match(name) {
			return true
		}
	}
	return false
}
