// SPDX-License-Identifier: Apache-2.0

// Package rbacxds makes engines of package rbac from Envoy's RBAC messages, with the meaning that
// gRFC A41 gives each field. It is a package of its own so that programs with JSON policies do not
// compile Envoy's messages.
package rbacxds

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	rbacpb "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"

	"google.golang.org/grpc/internal/rbac"
)

// Policy is an RBAC message that has been checked.
type Policy struct {
	engine  *rbac.Engine // has no loggers yet; nil if the policy decides nothing
	loggers rbac.Loggers
}

// Parse checks a message. The error names the field that is wrong. A resource with such a message
// must be rejected.
func Parse(m *rbacpb.RBAC) (*Policy, error) {
	p := &Policy{engine: &rbac.Engine{}}
	switch m.GetAction() {
	case rbacpb.RBAC_ALLOW:
		p.engine.Action = rbac.Allow
	case rbacpb.RBAC_DENY:
		p.engine.Action = rbac.Deny
	case rbacpb.RBAC_LOG:
		return &Policy{}, nil // as if there were no policy (A41)
	default:
		return nil, fmt.Errorf("action: %v is not supported", m.GetAction())
	}
	// Envoy evaluates policies in the order of their names.
	for _, name := range slices.Sorted(maps.Keys(m.GetPolicies())) {
		rule, err := parsePolicy(m.GetPolicies()[name])
		if err != nil {
			return nil, fmt.Errorf("policies[%q].%w", name, err)
		}
		rule.Name = name
		p.engine.Rules = append(p.engine.Rules, rule)
	}
	var err error
	if p.engine.Audit, p.loggers, err = parseAudit(m.GetAuditLoggingOptions()); err != nil {
		return nil, fmt.Errorf("audit_logging_options.%w", err)
	}
	return p, nil
}

// Engine returns an engine with its own loggers, or nil if the policy lets all RPCs pass unchecked.
// filter is the name of the HTTP filter for audit events.
func (p *Policy) Engine(filter string) *rbac.Engine {
	if p.engine == nil {
		return nil
	}
	e := *p.engine
	e.Audit.PolicyName, e.Audit.Loggers = filter, p.loggers.Build()
	return &e
}

func parsePolicy(m *rbacpb.Policy) (rule rbac.Rule, err error) {
	if m.GetCondition() != nil || m.GetCheckedCondition() != nil {
		return rule, errors.New("condition: CEL is not supported")
	}
	permissions, err := each(m.GetPermissions(), parsePermission)
	if err != nil {
		return rule, fmt.Errorf("permissions%w", err)
	}
	principals, err := each(m.GetPrincipals(), parsePrincipal)
	if err != nil {
		return rule, fmt.Errorf("principals%w", err)
	}
	return rbac.Rule{Permission: rbac.AnyOf(permissions...), Principal: rbac.AnyOf(principals...)}, nil
}

// each parses the elements of a list. Its errors name the element. An empty list is an error,
// because AllOf with no matchers would match every RPC.
func each[M any](list []M, parse func(M) (rbac.Matcher, error)) ([]rbac.Matcher, error) {
	if len(list) == 0 {
		return nil, errors.New(": is empty")
	}
	ms := make([]rbac.Matcher, len(list))
	for i, m := range list {
		var err error
		if ms[i], err = parse(m); err != nil {
			return nil, fmt.Errorf("[%d].%w", i, err)
		}
	}
	return ms, nil
}

func parsePermission(m *rbacpb.Permission) (rbac.Matcher, error) {
	switch r := m.GetRule().(type) {
	case *rbacpb.Permission_Any:
		return parseAny(r.Any)
	case *rbacpb.Permission_AndRules:
		ms, err := each(r.AndRules.GetRules(), parsePermission)
		return rbac.AllOf(ms...), within("and_rules.rules", err)
	case *rbacpb.Permission_OrRules:
		ms, err := each(r.OrRules.GetRules(), parsePermission)
		return rbac.AnyOf(ms...), within("or_rules.rules", err)
	case *rbacpb.Permission_NotRule:
		m, err := parsePermission(r.NotRule)
		return rbac.Not(m), within("not_rule.", err)
	case *rbacpb.Permission_Header:
		return parseHeader(r.Header)
	case *rbacpb.Permission_UrlPath:
		return parsePath(r.UrlPath)
	case *rbacpb.Permission_DestinationIp:
		in, err := parseRange(r.DestinationIp)
		return rbac.Destination(in), within("destination_ip: ", err)
	case *rbacpb.Permission_DestinationPort:
		ports, err := parsePorts(int64(r.DestinationPort), int64(r.DestinationPort)+1)
		return ports, within("destination_port: ", err)
	case *rbacpb.Permission_DestinationPortRange:
		ports, err := parsePorts(int64(r.DestinationPortRange.GetStart()), int64(r.DestinationPortRange.GetEnd()))
		return ports, within("destination_port_range: ", err)
	case *rbacpb.Permission_Metadata:
		return never(r.Metadata.GetInvert()), nil //nolint:staticcheck // deprecated, and in use by control planes
	case *rbacpb.Permission_RequestedServerName:
		text, err := parseString(r.RequestedServerName)
		return serverName(text), within("requested_server_name: ", err)
	}
	return nil, fmt.Errorf("rule: %T is not supported", m.GetRule())
}

func parsePrincipal(m *rbacpb.Principal) (rbac.Matcher, error) {
	switch p := m.GetIdentifier().(type) {
	case *rbacpb.Principal_Any:
		return parseAny(p.Any)
	case *rbacpb.Principal_AndIds:
		ms, err := each(p.AndIds.GetIds(), parsePrincipal)
		return rbac.AllOf(ms...), within("and_ids.ids", err)
	case *rbacpb.Principal_OrIds:
		ms, err := each(p.OrIds.GetIds(), parsePrincipal)
		return rbac.AnyOf(ms...), within("or_ids.ids", err)
	case *rbacpb.Principal_NotId:
		m, err := parsePrincipal(p.NotId)
		return rbac.Not(m), within("not_id.", err)
	case *rbacpb.Principal_Authenticated_:
		if p.Authenticated.GetPrincipalName() == nil {
			return rbac.TLS(), nil
		}
		text, err := parseString(p.Authenticated.GetPrincipalName())
		return rbac.Principal(text), within("authenticated.principal_name: ", err)
	// These three cases are the same, because the server evaluates neither PROXY headers nor
	// trusted hops (A41).
	case *rbacpb.Principal_SourceIp:
		in, err := parseRange(p.SourceIp) //nolint:staticcheck // deprecated, and in use by control planes
		return rbac.Source(in), within("source_ip: ", err)
	case *rbacpb.Principal_DirectRemoteIp:
		in, err := parseRange(p.DirectRemoteIp)
		return rbac.Source(in), within("direct_remote_ip: ", err)
	case *rbacpb.Principal_RemoteIp:
		in, err := parseRange(p.RemoteIp)
		return rbac.Source(in), within("remote_ip: ", err)
	case *rbacpb.Principal_Header:
		return parseHeader(p.Header)
	case *rbacpb.Principal_UrlPath:
		return parsePath(p.UrlPath)
	case *rbacpb.Principal_Metadata:
		return never(p.Metadata.GetInvert()), nil //nolint:staticcheck // deprecated, and in use by control planes
	}
	return nil, fmt.Errorf("identifier: %T is not supported", m.GetIdentifier())
}

func parseAny(v bool) (rbac.Matcher, error) {
	if !v {
		return nil, errors.New("any: must be true")
	}
	return rbac.Always(), nil
}

// never matches Envoy's dynamic metadata. An RPC has none, so only the inverted condition matches
// (A41).
func never(inverted bool) rbac.Matcher {
	if inverted {
		return rbac.Always()
	}
	return rbac.Never()
}

// serverName matches the server name that the client sent in TLS (SNI). The name counts as empty
// (A41).
func serverName(t rbac.Text) rbac.Matcher {
	if t.Match("") {
		return rbac.Always()
	}
	return rbac.Never()
}
