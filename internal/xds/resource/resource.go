// SPDX-License-Identifier: Apache-2.0

// Package resource converts xDS messages into typed values: Listener, RouteConfig, Cluster and
// Endpoints. Each message is parsed once, by the rules of the gRFCs. The value never changes
// afterwards, and its users need not check anything again. Errors have the path of the wrong
// field within the resource. A caller that knows the resource's name puts it before that path.
//
// Fields that no gRFC mentions are ignored, as A27 demands. A resource is rejected if a field
// is wrong, and if it asks for something that can't be ignored without harm (A29).
//
// Matching a request or a connection is a pure function that allocates nothing.
package resource

import (
	"fmt"
	"runtime/debug"
	"strings"

	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/protobuf/proto"
)

// The type URLs of the resources in ADS.
const (
	ListenerURL    = "type.googleapis.com/envoy.config.listener.v3.Listener"
	RouteConfigURL = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	ClusterURL     = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EndpointsURL   = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// Context is what parsing a resource depends on. It is safe for concurrent use.
type Context struct {
	// Bootstrap says which certificate providers resources may name. Nil means none.
	Bootstrap *bootstrap.Config
	// Server is the control plane that sent the resource. Its features say what it is trusted
	// with, and it gets the load reports. It is nil only in tests.
	Server *bootstrap.Server
	// Filters are the HTTP filters that are known. Nil means those of
	// httpfilter.Default.
	Filters *httpfilter.Registry
	// Features are the features that environment variables enable or disable.
	Features Features
}

// Features are the parts of xDS that environment variables enable or disable. Package
// internal/envconfig documents the variables.
type Features struct {
	Dualstack        bool // A61
	EndpointHashKey  bool // A76
	SystemRootCerts  bool // A82
	HTTPConnect      bool // A86
	SNI              bool // A101
	AuthorityRewrite bool // A81
	ORCAToLRS        bool // A85
	StatefulSession  bool // A55, and the idle timeout of A75
	GCPAuthn         bool // A83
	PanicRecovery    bool
	Scaling          bool // A105
}

func (c *Context) trusted() bool { return c.Server != nil && c.Server.Features.TrustedXDSServer }

func (c *Context) knowsCertProvider(name string) bool {
	return c.Bootstrap != nil && c.Bootstrap.KnowsCertProvider(name)
}

func (c *Context) filters() *httpfilter.Registry {
	known := c.Filters
	if known == nil {
		known = httpfilter.Default()
	}
	return known.From(httpfilter.Origin{Bootstrap: c.Bootstrap, Trusted: c.trusted()})
}

// FieldError says which field is wrong, and why.
type FieldError struct {
	Path string // such as "virtual_hosts[0].routes[2].match"
	Err  error
}

// Error implements error.
func (e *FieldError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// at prepends a field to the path of an error. It returns nil for nil.
func at(field string, err error) error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*FieldError); ok {
		return &FieldError{Path: field + "." + inner.Path, Err: inner.Err}
	}
	return &FieldError{Path: field, Err: err}
}

// atIndex is like at, for an element of a list or a map.
func atIndex[K int | string](field string, i K, err error) error {
	if err == nil {
		return nil
	}
	return at(fmt.Sprintf("%s[%v]", field, i), err)
}

// wrong returns an error about a field.
func wrong(field, format string, args ...any) error {
	return &FieldError{Path: field, Err: fmt.Errorf(format, args...)}
}

// parse decodes a message and passes it to read. With Features.PanicRecovery it turns a panic
// into an error, so that a control plane can't crash the program.
func parse[M proto.Message, V any](c *Context, raw []byte, m M, read func(*Context, M) (V, error)) (v V, err error) {
	if c.Features.PanicRecovery {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
	}
	if err := proto.Unmarshal(raw, m); err != nil {
		return v, fmt.Errorf("not a %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return read(c, m)
}

// newStyle reports whether a name belongs to a federation authority (A47).
func newStyle(name string) bool { return strings.HasPrefix(name, "xdstp:") }
