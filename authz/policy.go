// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"google.golang.org/protobuf/types/known/structpb"

	"google.golang.org/grpc/internal/rbac"
)

// authorizationPolicy is the JSON form of a policy (gRFC A43), with its audit options (gRFC
// A59).
type authorizationPolicy struct {
	Name       string              `json:"name"`
	DenyRules  []rule              `json:"deny_rules"`
	AllowRules []rule              `json:"allow_rules"`
	Audit      auditLoggingOptions `json:"audit_logging_options"`
}

type rule struct {
	Name    string  `json:"name"`
	Source  peer    `json:"source"`
	Request request `json:"request"`
}

type peer struct {
	Principals []string `json:"principals"`
}

type request struct {
	Paths   []string `json:"paths"`
	Headers []header `json:"headers"`
}

type header struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

type auditLoggingOptions struct {
	Condition string        `json:"audit_condition"`
	Loggers   []auditLogger `json:"audit_loggers"`
}

type auditLogger struct {
	Name     string           `json:"name"`
	Config   *structpb.Struct `json:"config"`
	Optional bool             `json:"is_optional"`
}

// checkWhole returns an error if a policy that could be decoded has text behind it, or a field twice. Package json
// ignores such rules.
func checkWhole(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	if err := checkOnce(d); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("there is text behind the policy, at byte %d", d.InputOffset())
	}
	return nil
}

// checkOnce reads a JSON value, and returns an error if an object in it has a field twice. As package json does, it
// takes letters of both cases for the same.
func checkOnce(d *json.Decoder) error {
	open, err := d.Token()
	if err != nil {
		return err
	}
	if _, composed := open.(json.Delim); !composed {
		return nil
	}
	seen := make(map[string]bool) // folded
	for d.More() {
		if open == json.Delim('{') {
			field, err := d.Token()
			if err != nil {
				return err
			}
			name := folded(field.(string))
			if seen[name] {
				return fmt.Errorf("field %q is there twice", field)
			}
			seen[name] = true
			if name == folded("config") { // an audit logger's own, which structpb checks
				var config json.RawMessage
				if err := d.Decode(&config); err != nil {
					return err
				}
				continue
			}
		}
		if err := checkOnce(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// folded returns the same for all names that package json takes for one.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}

// parsePolicy returns the engines that enforce a policy: one for the deny rules, if there
// are any, and one for the allow rules. A field that this version does not know is an
// error, because ignoring it could let in clients that the policy excludes (A43).
func parsePolicy(text string) (rbac.Chain, error) {
	var p authorizationPolicy
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&p)
	if err == nil {
		err = checkWhole(text)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to unmarshal policy: %w", err)
	}
	if p.Name == "" {
		return nil, errors.New(`"name" is not present`)
	}
	if len(p.AllowRules) == 0 {
		return nil, errors.New(`"allow_rules" is not present`)
	}
	allow, err := parseRules(p.Name, p.AllowRules)
	if err != nil {
		return nil, fmt.Errorf(`"allow_rules" %w`, err)
	}
	deny, err := parseRules(p.Name, p.DenyRules)
	if err != nil {
		return nil, fmt.Errorf(`"deny_rules" %w`, err)
	}
	onDeny, onAllow, err := p.Audit.engines()
	if err != nil {
		return nil, err
	}
	loggers, err := p.Audit.parseLoggers()
	if err != nil {
		return nil, err
	}
	built := loggers.Build()
	onDeny.PolicyName, onDeny.Loggers = p.Name, built
	onAllow.PolicyName, onAllow.Loggers = p.Name, built
	allowing := &rbac.Engine{Action: rbac.Allow, Rules: allow, Audit: onAllow}
	if len(deny) == 0 {
		return rbac.Chain{allowing}, nil
	}
	return rbac.Chain{{Action: rbac.Deny, Rules: deny, Audit: onDeny}, allowing}, nil
}

func parseRules(policy string, rules []rule) ([]rbac.Rule, error) {
	parsed := make([]rbac.Rule, len(rules))
	for i, r := range rules {
		if r.Name == "" {
			return nil, fmt.Errorf(`%d: "name" is not present`, i)
		}
		permission, err := parseRequest(r.Request)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
		parsed[i] = rbac.Rule{
			Name:       policy + "_" + r.Name,
			Permission: permission,
			Principal:  either(r.Source.Principals, rbac.Principal),
		}
	}
	return parsed, nil
}

func parseRequest(r request) (rbac.Matcher, error) {
	all := []rbac.Matcher{either(r.Paths, rbac.Path)}
	for i, h := range r.Headers {
		m, err := parseHeader(h)
		if err != nil {
			return nil, fmt.Errorf(`"headers" %d: %w`, i, err)
		}
		all = append(all, m)
	}
	return rbac.AllOf(all...), nil
}

func parseHeader(h header) (rbac.Matcher, error) {
	key := strings.ToLower(h.Key)
	switch {
	case key == "":
		return nil, errors.New(`"key" is not present`)
	case !supported(key):
		return nil, fmt.Errorf(`unsupported "key" %s`, key)
	case len(h.Values) == 0:
		return nil, errors.New(`"values" is not present`)
	}
	return either(h.Values, func(t rbac.Text) rbac.Matcher {
		return rbac.Header(rbac.HeaderMatch{Name: key, Value: &t})
	}), nil
}

// supported is false for the headers that a policy can't match: those of HTTP and gRPC
// themselves, and hop-by-hop headers.
func supported(key string) bool {
	switch key {
	case "host", "connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
		"te", "trailer", "transfer-encoding", "upgrade":
		return false
	}
	return !strings.HasPrefix(key, ":") && !strings.HasPrefix(key, "grpc-")
}

// either returns a matcher that matches if one of the patterns does, or that always matches
// if there are no patterns.
func either(patterns []string, matcher func(rbac.Text) rbac.Matcher) rbac.Matcher {
	if len(patterns) == 0 {
		return rbac.Always()
	}
	ms := make([]rbac.Matcher, len(patterns))
	for i, p := range patterns {
		ms[i] = matcher(pattern(p))
	}
	return rbac.AnyOf(ms...)
}

// pattern parses "*", "abc*", "*abc" or "abc". An asterisk anywhere else is an ordinary
// character.
func pattern(p string) rbac.Text {
	switch {
	case p == "*":
		return rbac.NonEmpty()
	case strings.HasSuffix(p, "*"):
		return rbac.Prefix(strings.TrimSuffix(p, "*"))
	case strings.HasPrefix(p, "*"):
		return rbac.Suffix(strings.TrimPrefix(p, "*"))
	}
	return rbac.Exact(p)
}

// engines divides the audit condition between the deny and the allow engine in such a way
// that each RPC is audited at most once (the table of gRFC A59).
func (o auditLoggingOptions) engines() (deny, allow rbac.Audit, err error) {
	switch o.Condition {
	case "", "NONE":
	case "ON_DENY":
		deny.OnDeny, allow.OnDeny = true, true
	case "ON_ALLOW":
		allow.OnAllow = true
	case "ON_DENY_AND_ALLOW":
		deny.OnDeny, allow.OnDeny, allow.OnAllow = true, true, true
	default:
		err = fmt.Errorf("failed to parse AuditCondition %v. Allowed values {NONE, ON_DENY, ON_ALLOW, ON_DENY_AND_ALLOW}", o.Condition)
	}
	return deny, allow, err
}

func (o auditLoggingOptions) parseLoggers() (rbac.Loggers, error) {
	configs := make([]rbac.LoggerConfig, len(o.Loggers))
	for i, l := range o.Loggers {
		if l.Name == "" {
			return nil, fmt.Errorf("missing required field: name in audit_logging_options.audit_loggers[%d]", i)
		}
		config, err := json.Marshal(l.Config.AsMap())
		if err != nil {
			return nil, fmt.Errorf("audit_logging_options.audit_loggers[%d]: %w", i, err)
		}
		configs[i] = rbac.LoggerConfig{Name: l.Name, Config: config, Optional: l.Optional}
	}
	return rbac.ParseLoggers(configs)
}
