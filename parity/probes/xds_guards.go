// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// guardText is the RBAC filter "guard" with the fields.
func guardText(fields string) string {
	return `http_filters { name: "guard" typed_config { [` + typeOf + `extensions.filters.http.rbac.v3.RBAC] { ` + fields + ` } } } `
}

// guardRules are permissions, and principals: each decides alone who gets in.
var guardRules = map[string]string{
	"any":                     `any: true`,
	"any that is false":       `any: false`,
	"nothing":                 ``,
	"not":                     `not_X { any: true }`,
	"not nothing":             `not_X {}`,
	"a header":                `header { name: "k" exact_match: "v" }`,
	"a header, in upper case": `header { name: "K" exact_match: "v" }`,
	"a header, inverted":      `header { name: "k" exact_match: "v" invert_match: true }`,
	"a header that is there":  `header { name: "k" present_match: true }`,
	"a header that is not":    `header { name: "k" present_match: false }`,
	"a header alone":          `header { name: "k" }`,
	"a header of no name":     `header { exact_match: "v" }`,
	"a header by prefix":      `header { name: "k" prefix_match: "v" }`,
	"a header by suffix":      `header { name: "k" suffix_match: "v" }`,
	"a header that contains":  `header { name: "k" contains_match: "v" }`,
	"a header by range":       `header { name: "k" range_match { start: 1 end: 5 } }`,
	"a header by regex":       `header { name: "k" safe_regex_match { regex: "[vx]" } }`,
	"a header by a bad regex": `header { name: "k" safe_regex_match { regex: "(" } }`,
	"a header by string":      `header { name: "k" string_match { exact: "V" ignore_case: true } }`,
	"a header of gRPC":        `header { name: "grpc-timeout" present_match: true }`,
	"the scheme":              `header { name: ":scheme" present_match: true }`,
	"the method":              `header { name: ":method" exact_match: "POST" }`,
	"the path as a header":    `header { name: ":path" exact_match: "/probe.Probe/Unary" }`,
	"the authority":           `header { name: ":authority" present_match: true }`,
	"the host":                `header { name: "host" present_match: true }`,
	"the content type":        `header { name: "content-type" present_match: true }`,
	"te":                      `header { name: "te" present_match: true }`,
	"the user agent":          `header { name: "user-agent" prefix_match: "grpc-go" }`,
	"a path":                  `url_path { path { exact: "/probe.Probe/Unary" } }`,
	"a path by prefix":        `url_path { path { prefix: "/probe.Probe/U" } }`,
	"a path by nothing":       `url_path {}`,
	"a path in any case":      `url_path { path { exact: "/PROBE.probe/unary" ignore_case: true } }`,
	"metadata":                `metadata { filter: "x" }`,
	"metadata, inverted":      `metadata { filter: "x" invert: true }`,
}

// guardPermissions are rules that permissions alone have.
var guardPermissions = map[string]string{
	"this address":          `destination_ip { address_prefix: "127.0.0.0" prefix_len { value: 8 } }`,
	"another address":       `destination_ip { address_prefix: "10.0.0.0" prefix_len { value: 8 } }`,
	"a bad address":         `destination_ip { address_prefix: "x" }`,
	"this port":             `destination_port: PORT`,
	"another port":          `destination_port: 1`,
	"a port that is none":   `destination_port: 65536`,
	"all ports":             `destination_port_range { start: 1 end: 65536 }`,
	"ports that are none":   `destination_port_range { start: 2 end: 2 }`,
	"a server name":         `requested_server_name { exact: "x" }`,
	"an empty server name":  `requested_server_name { exact: "" }`,
	"and":                   `and_rules { rules { any: true } rules { header { name: "k" exact_match: "v" } } }`,
	"and nothing":           `and_rules {}`,
	"or":                    `or_rules { rules { destination_port: 1 } rules { header { name: "k" exact_match: "v" } } }`,
	"or nothing":            `or_rules {}`,
	"an unknown matcher":    `matcher { name: "x" }`,
	"a template of a path":  `uri_template { name: "x" }`,
	"metadata of a source":  `sourced_metadata {}`,
	"metadata, not of this": `not_rule { sourced_metadata {} }`,
}

// guardPrincipals are those of principals.
var guardPrincipals = map[string]string{
	"anybody with TLS":       `authenticated {}`,
	"a name":                 `authenticated { principal_name { exact: "x" } }`,
	"an empty name":          `authenticated { principal_name {} }`,
	"nobody with TLS":        `not_id { authenticated {} }`,
	"this source":            `source_ip { address_prefix: "127.0.0.1" prefix_len { value: 32 } }`,
	"another source":         `source_ip { address_prefix: "10.0.0.1" prefix_len { value: 32 } }`,
	"this direct peer":       `direct_remote_ip { address_prefix: "127.0.0.1" prefix_len { value: 32 } }`,
	"this remote peer":       `remote_ip { address_prefix: "127.0.0.1" prefix_len { value: 32 } }`,
	"an address of no bits":  `remote_ip { address_prefix: "127.0.0.1" }`,
	"an address of 33 bits":  `remote_ip { address_prefix: "127.0.0.1" prefix_len { value: 33 } }`,
	"and":                    `and_ids { ids { any: true } ids { header { name: "k" exact_match: "v" } } }`,
	"and nothing":            `and_ids {}`,
	"or":                     `or_ids { ids { authenticated {} } ids { header { name: "k" exact_match: "v" } } }`,
	"or nothing":             `or_ids {}`,
	"a state":                `filter_state { key: "x" }`,
	"a program's own":        `custom { name: "x" }`,
	"metadata of a source":   `sourced_metadata {}`,
	"not metadata of source": `not_id { sourced_metadata {} }`,
}

// guardPolicies are filters as a whole.
var guardPolicies = map[string]string{
	"empty":               ``,
	"no policies":         `rules {}`,
	"deny without policy": `rules { action: DENY }`,
	"log":                 `rules { action: LOG policies { key: "p" value { permissions { any: true } principals { any: true } } } }`,
	"an unknown action":   `rules { action: 7 policies { key: "p" value { permissions { any: true } principals { any: true } } } }`,
	"no permissions":      `rules { policies { key: "p" value { principals { any: true } } } }`,
	"no principals":       `rules { policies { key: "p" value { permissions { any: true } } } }`,
	"deny a header":       `rules { action: DENY policies { key: "p" value { permissions { header { name: "k" exact_match: "v" } } principals { any: true } } } }`,
	"a condition":         `rules { policies { key: "p" value { permissions { any: true } principals { any: true } condition {} } } }`,
	"a checked condition": `rules { policies { key: "p" value { permissions { any: true } principals { any: true } checked_condition {} } } }`,
	"a matcher":           `matcher {}`,
	"shadow rules":        `shadow_rules { action: DENY policies { key: "p" value { permissions { any: true } principals { any: true } } } }`,
	"bad shadow rules":    `shadow_rules { action: 7 }`,
	"audit without loggers": `rules { policies { key: "p" value { permissions { any: true } principals { any: true } } }
		audit_logging_options { audit_condition: ON_DENY_AND_ALLOW } }`,
	"an unknown audit": `rules { policies { key: "p" value { permissions { any: true } principals { any: true } } }
		audit_logging_options { audit_condition: 9 } }`,
	"an unknown logger": `rules { policies { key: "p" value { permissions { any: true } principals { any: true } } }
		audit_logging_options { audit_condition: ON_DENY logger_configs { audit_logger { name: "x" typed_config { [` + typeOf + `config.route.v3.RouteConfiguration] {} } } } } }`,
	"an unknown, optional logger": `rules { policies { key: "p" value { permissions { any: true } principals { any: true } } }
		audit_logging_options { audit_condition: ON_DENY logger_configs { is_optional: true audit_logger { name: "x" typed_config { [` + typeOf + `config.route.v3.RouteConfiguration] {} } } } } }`,
	"a logger of nothing": `rules { policies { key: "p" value { permissions { any: true } principals { any: true } } }
		audit_logging_options { audit_condition: ON_DENY logger_configs {} } }`,
}

// guardProbe has a server with the filter, and calls it.
func guardProbe(name, fields string) probe.Probe {
	return probe.Probe{Name: "server/guard/" + name, Run: func(p *probe.P) {
		s := startXDSServer(p, serverAt+chainOf(serverRoute+guardText(fields)+routerText))
		p.Printf("%s", s.plane.Verdict(p, "Listener"))
		p.Printf("%s", s.mode())
		s.calls(p)
	}}
}

// named puts the name of the inverse, which differs for permissions and principals.
func named(text, kind string) string { return strings.Replace(text, "not_X", "not_"+kind, 1) }

func xdsGuardProbes() []probe.Probe {
	var out []probe.Probe
	permission := func(name, text string) {
		out = append(out, guardProbe("permission, "+name, `rules { policies { key: "p" value { permissions { `+text+` } principals { any: true } } } }`))
	}
	principal := func(name, text string) {
		out = append(out, guardProbe("principal, "+name, `rules { policies { key: "p" value { permissions { any: true } principals { `+text+` } } } }`))
	}
	for name, text := range guardRules {
		permission(name, named(text, "rule"))
		principal(name, named(text, "id"))
	}
	for name, text := range guardPermissions {
		permission(name, text)
	}
	for name, text := range guardPrincipals {
		principal(name, text)
	}
	for name, text := range guardPolicies {
		out = append(out, guardProbe(name, text))
	}
	for _, condition := range []string{"NONE", "ON_DENY", "ON_ALLOW", "ON_DENY_AND_ALLOW"} {
		for _, action := range []string{"ALLOW", "DENY"} {
			out = append(out, auditProbe(condition, action))
		}
	}
	return out
}

// auditProbe prints what a logger is told.
func auditProbe(condition, action string) probe.Probe {
	return probe.Probe{Name: "server/audit/" + condition + ", " + action, Alone: true, Run: func(p *probe.P) {
		j := &journal{}
		audit.RegisterLoggerBuilder(keepingAudits{j})
		guard := guardText(fmt.Sprintf(`rules { action: %s policies { key: "the policy" value { permissions { header { name: "k" exact_match: "v" } } principals { any: true } } }
			audit_logging_options { audit_condition: %s logger_configs { audit_logger { name: "the logger" typed_config {
				[type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "x/probe_audits" value { fields { key: "a" value { number_value: 1 } } } } } } } } }`, action, condition))
		s := startXDSServer(p, serverAt+chainOf(serverRoute+guard+routerText))
		p.Printf("%s", s.plane.Verdict(p, "Listener"))
		p.Printf("%s", s.mode())
		p.Printf("%s", s.call(p, rig.Unary, "k", "v"))
		p.Printf("%s", s.call(p, rig.Unary))
		j.print(p)
	}}
}

// keepingAudits builds loggers that keep what they are told.
type keepingAudits struct{ j *journal }

func (keepingAudits) Name() string { return "probe_audits" }

func (b keepingAudits) ParseLoggerConfig(config json.RawMessage) (audit.LoggerConfig, error) {
	b.j.add("config %s", config)
	return nil, nil //nolint:nilnil // there is nothing to configure
}

func (b keepingAudits) Build(audit.LoggerConfig) audit.Logger { return b }

func (b keepingAudits) Log(e *audit.Event) { b.j.add("%+v", *e) }
