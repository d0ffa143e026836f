// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	policyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/internal/xds/unknown/fieldtable"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The types of a logger that there is, and of one that there is not.
const (
	stdoutLog = "type.googleapis.com/envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog"
	aRoute    = "type.googleapis.com/envoy.config.route.v3.Route"
)

// rbacFields has each field of RBAC policies, and what becomes of it. TestRBACFields wants all of
// them, so that those of a newer library are decided on, too.
var rbacFields = []struct {
	message      proto.Message
	field, text  string
	verdict, why string
}{
	{&rbacv3.RBACPerRoute{}, "rbac", `rbac {}`, "obeyed", "without it all RPCs of the route pass"},

	{&rbacv3.RBAC{}, "rules", `rules {}`, "obeyed", "without it all RPCs pass; without policies in it none does"},
	{&rbacv3.RBAC{}, "rules_stat_prefix", `rules_stat_prefix: "x"`, "harmless", "there are no statistics"},
	{&rbacv3.RBAC{}, "matcher", `matcher {}`, "refused", "without it all RPCs would pass"},
	{&rbacv3.RBAC{}, "shadow_rules", `shadow_rules {}`, "harmless", "they decide nothing (A41)"},
	{&rbacv3.RBAC{}, "shadow_matcher", `shadow_matcher {}`, "harmless", "as above"},
	{&rbacv3.RBAC{}, "shadow_rules_stat_prefix", `shadow_rules_stat_prefix: "x"`, "harmless", "as above"},
	{&rbacv3.RBAC{}, "track_per_rule_stats", `track_per_rule_stats: true`, "harmless", "there are no statistics"},

	{&policyv3.RBAC{}, "action", `action: 7`, "refused", "if it is not known; LOG is no policy (A41)"},
	{&policyv3.RBAC{}, "policies", `policies { key: "q" value {} }`, "refused", "if they have no permissions or no principals"},
	{&policyv3.RBAC{}, "audit_logging_options", `audit_logging_options { audit_condition: ON_DENY }`, "obeyed", "A59"},
	{&policyv3.RBAC_AuditLoggingOptions{}, "audit_condition", `audit_condition: 9`, "refused", "if it is not known"},
	{&policyv3.RBAC_AuditLoggingOptions{}, "logger_configs", `logger_configs {}`, "refused", "if one has no logger"},
	{&policyv3.RBAC_AuditLoggingOptions_AuditLoggerConfig{}, "audit_logger", `audit_logger { typed_config { [` + aRoute + `] {} } }`, "refused", "if it is not known"},
	{&policyv3.RBAC_AuditLoggingOptions_AuditLoggerConfig{}, "is_optional", `is_optional: true audit_logger { typed_config { [` + aRoute + `] {} } }`, "obeyed", ""},
	{&corev3.TypedExtensionConfig{}, "name", `name: "x" typed_config { [` + stdoutLog + `] {} }`, "harmless", "the type says which logger is meant (A59)"},
	{&corev3.TypedExtensionConfig{}, "typed_config", ``, "refused", "if it is missing"},

	{&policyv3.Policy{}, "permissions", `permissions {}`, "refused", "if one is empty"},
	{&policyv3.Policy{}, "principals", `principals {}`, "refused", "if one is empty"},
	{&policyv3.Policy{}, "condition", `condition {}`, "refused", "A41"},
	{&policyv3.Policy{}, "checked_condition", `checked_condition {}`, "refused", "A41"},
	{&policyv3.Policy{}, "cel_config", `cel_config {}`, "harmless", "conditions are refused"},

	{&policyv3.Permission_Set{}, "rules", `rules {}`, "refused", "if one is empty"},
	{&policyv3.Principal_Set{}, "ids", `ids {}`, "refused", "if one is empty"},
	{&policyv3.Principal_Authenticated{}, "principal_name", `principal_name {}`, "refused", "if empty"},

	{&policyv3.Permission{}, "and_rules", `and_rules {}`, "refused", "if empty"},
	{&policyv3.Permission{}, "or_rules", `or_rules {}`, "refused", "if empty"},
	{&policyv3.Permission{}, "any", `any: false`, "refused", "unless it is true"},
	{&policyv3.Permission{}, "header", `header { name: "x" present_match: true }`, "obeyed", "see HeaderMatcher"},
	{&policyv3.Permission{}, "url_path", `url_path {}`, "refused", "if empty"},
	{&policyv3.Permission{}, "destination_ip", `destination_ip {}`, "refused", "if it is no range; ::ffff:0:0/96 is IPv4"},
	{&policyv3.Permission{}, "destination_port", `destination_port: 65536`, "refused", "if there is none such"},
	{&policyv3.Permission{}, "destination_port_range", `destination_port_range { start: 2 end: 2 }`, "refused", "if empty"},
	{&policyv3.Permission{}, "metadata", `metadata {}`, "obeyed", "there is none, so that only the inverse matches (A41); deprecated"},
	{&policyv3.Permission{}, "not_rule", `not_rule {}`, "refused", "if empty"},
	{&policyv3.Permission{}, "requested_server_name", `requested_server_name {}`, "refused", "if empty; the name is \"\" (A41)"},
	{&policyv3.Permission{}, "matcher", `matcher {}`, "refused", ""},
	{&policyv3.Permission{}, "uri_template", `uri_template {}`, "refused", ""},
	{&policyv3.Permission{}, "sourced_metadata", `sourced_metadata {}`, "refused", "routes have metadata, which is not looked at"},

	{&policyv3.Principal{}, "and_ids", `and_ids {}`, "refused", "if empty"},
	{&policyv3.Principal{}, "or_ids", `or_ids {}`, "refused", "if empty"},
	{&policyv3.Principal{}, "any", `any: false`, "refused", "unless it is true"},
	{&policyv3.Principal{}, "authenticated", `authenticated { principal_name {} }`, "refused", "if the name is empty; without one any TLS client (A41)"},
	{&policyv3.Principal{}, "source_ip", `source_ip {}`, "refused", "if it is no range; deprecated"},
	{&policyv3.Principal{}, "direct_remote_ip", `direct_remote_ip {}`, "refused", "if it is no range"},
	{&policyv3.Principal{}, "remote_ip", `remote_ip {}`, "refused", "if it is no range"},
	{&policyv3.Principal{}, "header", `header { name: "grpc-x" present_match: true }`, "refused", "for names that A41 excepts; see HeaderMatcher"},
	{&policyv3.Principal{}, "url_path", `url_path {}`, "refused", "if empty"},
	{&policyv3.Principal{}, "metadata", `metadata {}`, "obeyed", "as for a Permission"},
	{&policyv3.Principal{}, "filter_state", `filter_state {}`, "refused", ""},
	{&policyv3.Principal{}, "not_id", `not_id {}`, "refused", "if empty"},
	{&policyv3.Principal{}, "sourced_metadata", `sourced_metadata {}`, "refused", "routes have metadata, which is not looked at"},
	{&policyv3.Principal{}, "custom", `custom {}`, "refused", ""},

	{&routev3.HeaderMatcher{}, "name", ``, "refused", "if empty, of grpc-, or :scheme (A41)"},
	{&routev3.HeaderMatcher{}, "exact_match", `name: "x" exact_match: ""`, "obeyed", "deprecated"},
	{&routev3.HeaderMatcher{}, "safe_regex_match", `name: "x" safe_regex_match { regex: "(" }`, "refused", "if it is none; deprecated"},
	{&routev3.HeaderMatcher{}, "range_match", `name: "x" range_match { start: 3 end: 2 }`, "refused", "if it ends before it starts"},
	{&routev3.HeaderMatcher{}, "present_match", `name: "x" present_match: false`, "obeyed", "also where there is no other"},
	{&routev3.HeaderMatcher{}, "prefix_match", `name: "x" prefix_match: ""`, "refused", "if empty; deprecated"},
	{&routev3.HeaderMatcher{}, "suffix_match", `name: "x" suffix_match: ""`, "refused", "if empty; deprecated"},
	{&routev3.HeaderMatcher{}, "contains_match", `name: "x" contains_match: ""`, "refused", "if empty; deprecated"},
	{&routev3.HeaderMatcher{}, "string_match", `name: "x" string_match {}`, "refused", "if empty"},
	{&routev3.HeaderMatcher{}, "invert_match", `name: "x" exact_match: "" invert_match: true`, "obeyed", ""},
	{&routev3.HeaderMatcher{}, "treat_missing_header_as_empty", `name: "x" present_match: true treat_missing_header_as_empty: true`, "refused", "beside present_match; otherwise obeyed"},

	{&matcherv3.StringMatcher{}, "exact", `exact: ""`, "obeyed", ""},
	{&matcherv3.StringMatcher{}, "prefix", `prefix: ""`, "refused", "if empty"},
	{&matcherv3.StringMatcher{}, "suffix", `suffix: ""`, "refused", "if empty"},
	{&matcherv3.StringMatcher{}, "safe_regex", `safe_regex { regex: "(" }`, "refused", "if it is none"},
	{&matcherv3.StringMatcher{}, "contains", `contains: ""`, "refused", "if empty"},
	{&matcherv3.StringMatcher{}, "custom", `custom {}`, "refused", ""},
	{&matcherv3.StringMatcher{}, "ignore_case", `exact: "x" ignore_case: true`, "obeyed", "but for safe_regex (A63)"},

	{&matcherv3.RegexMatcher{}, "google_re2", `google_re2 {} regex: "a"`, "harmless", "it bounds the size of Envoy's programs; deprecated"},
	{&matcherv3.RegexMatcher{}, "regex", `regex: "a)(b"`, "refused", "if it is none"},
	{&matcherv3.PathMatcher{}, "path", `path {}`, "refused", "if empty"},
	{&corev3.CidrRange{}, "address_prefix", `address_prefix: "x"`, "refused", "if it is no address"},
	{&corev3.CidrRange{}, "prefix_len", `address_prefix: "10.0.0.0" prefix_len { value: 33 }`, "refused", "if the address has fewer bits"},
	{&typev3.Int32Range{}, "start", `start: -1 end: 2`, "refused", "if it is no port"},
	{&typev3.Int32Range{}, "end", `start: 2 end: 65537`, "refused", "if no port is below it"},
	{&typev3.Int64Range{}, "start", `start: 2 end: 1`, "refused", "if it is above the end"},
	{&typev3.Int64Range{}, "end", `start: 0 end: -1`, "refused", "if it is below the start"},
	{&matcherv3.MetadataMatcher{}, "filter", `filter: "x"`, "harmless", "there is no metadata (A41)"},
	{&matcherv3.MetadataMatcher{}, "path", `path { key: "x" }`, "harmless", "as above"},
	{&matcherv3.MetadataMatcher{}, "value", `value { present_match: true }`, "harmless", "as above"},
	{&matcherv3.MetadataMatcher{}, "invert", `invert: true`, "obeyed", "it matches always"},
}

// rbacTexts are the text of the filter's message with a field, for each place that it may have.
func rbacTexts(m proto.Message, text string) []string {
	const anybody, anything = ` principals { any: true } `, ` permissions { any: true } `
	policy := func(fields string) string { return `rules { policies { key: "p" value { ` + fields + ` } } }` }
	either := func(what string) []string {
		return []string{policy(anybody + `permissions { ` + what + ` }`), policy(anything + `principals { ` + what + ` }`)}
	}
	switch m.(type) {
	case *rbacv3.RBAC:
		return []string{text}
	case *policyv3.RBAC:
		return []string{`rules { ` + text + ` }`}
	case *policyv3.Policy:
		return []string{policy(anybody + anything + text)}
	case *rbacv3.RBACPerRoute:
		return nil // TestRBACFields has it
	case *policyv3.RBAC_AuditLoggingOptions:
		return []string{`rules { audit_logging_options { ` + text + ` } }`}
	case *policyv3.RBAC_AuditLoggingOptions_AuditLoggerConfig:
		return []string{`rules { audit_logging_options { logger_configs { ` + text + ` } } }`}
	case *corev3.TypedExtensionConfig:
		return []string{`rules { audit_logging_options { logger_configs { audit_logger { ` + text + ` } } } }`}
	case *policyv3.Permission_Set:
		return []string{either(`and_rules { ` + text + ` }`)[0], either(`or_rules { ` + text + ` }`)[0]}
	case *policyv3.Principal_Set:
		return []string{either(`and_ids { ` + text + ` }`)[1], either(`or_ids { ` + text + ` }`)[1]}
	case *policyv3.Principal_Authenticated:
		return either(`authenticated { ` + text + ` }`)[1:]
	case *matcherv3.RegexMatcher:
		return append(either(`url_path { path { safe_regex { `+text+` } } }`), either(`header { name: "x" safe_regex_match { `+text+` } }`)...)
	case *matcherv3.PathMatcher:
		return either(`url_path { ` + text + ` }`)
	case *corev3.CidrRange:
		ranges := []string{either(`destination_ip { ` + text + ` }`)[0]}
		for _, kind := range []string{"source_ip", "direct_remote_ip", "remote_ip"} {
			ranges = append(ranges, either(kind + ` { ` + text + ` }`)[1])
		}
		return ranges
	case *typev3.Int32Range:
		return either(`destination_port_range { ` + text + ` }`)[:1]
	case *typev3.Int64Range:
		return either(`header { name: "x" range_match { ` + text + ` } }`)
	case *matcherv3.MetadataMatcher:
		return either(`metadata { ` + text + ` }`)
	case *policyv3.Permission:
		return either(text)[:1]
	case *policyv3.Principal:
		return either(text)[1:]
	case *routev3.HeaderMatcher:
		return either(`header { ` + text + ` }`)
	default:
		return append(either(`url_path { path { `+text+` } }`), either(`header { name: "x" string_match { `+text+` } }`)...)
	}
}

// TestRBACFields: each field of a policy is refused or obeyed, or does no harm if it is skipped;
// internal/xds/README.md has the same table. What obedience is, package rbacxds tests.
func TestRBACFields(t *testing.T) {
	var table strings.Builder
	decided := make(fieldtable.Decisions)
	for _, f := range rbacFields {
		d := f.message.ProtoReflect().Descriptor()
		name := string(d.FullName()) + "." + f.field
		decided.Add(d, f.field, f.verdict != "harmless" && (f.verdict != "refused" || conditional(f.why)))
		fmt.Fprintf(&table, "| %s | `%s` | %s | %s |\n", strings.TrimPrefix(string(d.FullName()), "envoy."), f.field, f.verdict, f.why)
		for _, text := range rbacTexts(f.message, f.text) {
			for _, route := range []bool{false, true} {
				var err error
				if route {
					_, err = RBAC{}.ParseOverride(message(t, &rbacv3.RBACPerRoute{}, `rbac { `+text+` }`))
				} else {
					_, err = RBAC{}.Parse(message(t, &rbacv3.RBAC{}, text))
				}
				if (err != nil) != (f.verdict == "refused") {
					t.Errorf("%s is %s; got %v for %s", name, f.verdict, err, text)
				}
			}
		}
	}
	if _, err := (RBAC{}).ParseOverride(message(t, &rbacv3.RBACPerRoute{}, ``)); err != nil {
		t.Error(err)
	}
	for _, missing := range decided.Missing((&rbacv3.RBACPerRoute{}).ProtoReflect().Descriptor()) {
		t.Errorf("nobody has decided on %s", missing)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil || !strings.Contains(string(readme), table.String()) {
		t.Errorf("internal/xds/README.md has another table (%v); want\n%s", err, table.String())
	}
}

// conditional reports whether a field is refused for some of its values alone.
func conditional(why string) bool {
	return strings.HasPrefix(why, "if ") || strings.HasPrefix(why, "unless ") || strings.HasPrefix(why, "for ")
}

// TestUnknownRBACFields: a condition of a newer control plane's is not skipped.
func TestUnknownRBACFields(t *testing.T) {
	newer := protowire.AppendBytes(protowire.AppendTag(nil, 1234, protowire.BytesType), []byte("x"))
	policy := &policyv3.Policy{
		Permissions: []*policyv3.Permission{{Rule: &policyv3.Permission_Any{Any: true}}},
		Principals:  []*policyv3.Principal{{Identifier: &policyv3.Principal_Any{Any: true}}},
	}
	filter := &rbacv3.RBAC{Rules: &policyv3.RBAC{Policies: map[string]*policyv3.Policy{"p": policy}}}
	route := &rbacv3.RBACPerRoute{Rbac: filter}
	for _, m := range []proto.Message{policy, policy.Permissions[0], policy.Principals[0], filter.Rules, filter, route} {
		m.ProtoReflect().SetUnknown(newer)
		raw, err := proto.Marshal(route)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (RBAC{}).ParseOverride(Message{Type: rbacRouteType, Raw: raw}); err == nil || !strings.Contains(err.Error(), "field 1234") {
			t.Errorf("%T: %v", m, err)
		}
		if raw, err = proto.Marshal(filter); err != nil {
			t.Fatal(err)
		}
		if _, err := (RBAC{}).Parse(Message{Type: rbacType, Raw: raw}); m != route && (err == nil || !strings.Contains(err.Error(), "field 1234")) {
			t.Errorf("%T: %v", m, err)
		}
		m.ProtoReflect().SetUnknown(nil)
	}
}
