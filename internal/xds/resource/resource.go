// SPDX-License-Identifier: Apache-2.0

// Package resource turns the messages of xDS into typed values: Listener, RouteConfig, Cluster
// and Endpoints. Each is parsed once, by the rules of the gRFCs, and never changes afterwards;
// whoever has one need check nothing again. Errors name the field that is wrong, as its path
// from the resource on; who knows the resource's name puts it before that.
//
// What a gRFC does not mention is ignored, as A27 demands. A resource is rejected for what it
// says wrong, and for what it asks for that can't be left out without harm (A29).
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

// Type URLs of the resources, which ADS speaks of.
const (
	ListenerURL    = "type.googleapis.com/envoy.config.listener.v3.Listener"
	RouteConfigURL = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	ClusterURL     = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EndpointsURL   = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// Context is what a resource is parsed in. Its methods are safe for concurrent use.
type Context struct {
	// Bootstrap tells which certificate providers resources may name. Nil means none.
	Bootstrap *bootstrap.Config
	// Server is where the resource came from: what it is trusted with, and who gets load
	// reports. Nil in tests.
	Server *bootstrap.Server
	// Filters are the HTTP filters that are known. Nil means the usual ones without those that
	// environment variables switch on.
	Filters *httpfilter.Registry
	// Features are those that environment variables switch.
	Features Features
}

// Features are the parts of xDS that environment variables switch; see internal/envconfig for
// each.
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

// FieldError says what is wrong with which field.
type FieldError struct {
	Path string // such as "virtual_hosts[0].routes[2].match"
	Err  error
}

// Error implements error.
func (e *FieldError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the error without the path.
func (e *FieldError) Unwrap() error { return e.Err }

// at puts a field before the path of an error; nil stays nil.
func at(field string, err error) error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*FieldError); ok {
		return &FieldError{Path: field + "." + inner.Path, Err: inner.Err}
	}
	return &FieldError{Path: field, Err: err}
}

// atIndex is at for one of a list, or of a map.
func atIndex[K int | string](field string, i K, err error) error {
	if err == nil {
		return nil
	}
	return at(fmt.Sprintf("%s[%v]", field, i), err)
}

// wrong makes an error about a field.
func wrong(field, format string, args ...any) error {
	return &FieldError{Path: field, Err: fmt.Errorf(format, args...)}
}

// parse reads a message and hands it to read. A panic of read, or of what it calls, is an error
// if that is wanted: a control plane shall not be able to end the program.
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

// newStyle reports whether a name is one of federation (A47).
func newStyle(name string) bool { return strings.HasPrefix(name, "xdstp:") }
