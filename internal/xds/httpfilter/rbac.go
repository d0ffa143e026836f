// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"errors"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"google.golang.org/grpc/internal/rbac/rbacxds"
	"google.golang.org/grpc/internal/xds/unknown"
)

// RBAC is the filter by which a server rejects RPCs, depending on who sends them and what
// they ask for (A41).
type RBAC struct{}

// RBACConfig is the policy of a filter chain or a route.
type RBACConfig struct {
	// Policy is nil if all RPCs may pass.
	Policy *rbacxds.Policy
}

const (
	rbacType      = "envoy.extensions.filters.http.rbac.v3.RBAC"
	rbacRouteType = "envoy.extensions.filters.http.rbac.v3.RBACPerRoute"
)

// Types implements Kind.
func (RBAC) Types() []string { return []string{rbacType, rbacRouteType} }

// Sides implements Kind.
func (RBAC) Sides() Side { return Server }

// Terminal implements Kind.
func (RBAC) Terminal() bool { return false }

// Parse implements Kind. The Config is a *RBACConfig.
func (RBAC) Parse(m Message) (Config, error) {
	var in rbacv3.RBAC
	if err := m.Unmarshal(&in); err != nil {
		return nil, err
	}
	if err := unknown.Field(&in); err != nil {
		return nil, err
	}
	return readRBAC(&in)
}

// ParseOverride implements Kind. An override without a policy lets all RPCs pass.
func (RBAC) ParseOverride(m Message) (Config, error) {
	var in rbacv3.RBACPerRoute
	if err := m.Unmarshal(&in); err != nil {
		return nil, err
	}
	if err := unknown.Field(&in); err != nil { // an unknown field could be a policy
		return nil, err
	}
	return readRBAC(in.GetRbac())
}

// readRBAC ignores shadow rules, as A41 demands.
func readRBAC(in *rbacv3.RBAC) (Config, error) {
	if in.GetMatcher() != nil {
		return nil, errors.New("matcher: not supported; use rules")
	}
	if in.GetRules() == nil {
		return &RBACConfig{}, nil
	}
	p, err := rbacxds.Parse(in.GetRules())
	if err != nil {
		return nil, err
	}
	return &RBACConfig{Policy: p}, nil
}
