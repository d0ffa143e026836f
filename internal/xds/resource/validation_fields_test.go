// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc/internal/xds/unknown/fieldtable"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// verdict is what becomes of a field.
type verdict string

const (
	obeyed   verdict = "obeyed"
	refused  verdict = "refused"
	harmless verdict = "harmless" // without it there are as many checks, or more
	absent   verdict = "-"        // the other role's
)

// fieldCase is a field of a message, and what becomes of it on either side. text sets it; one that
// begins with "=" is all that the message has, otherwise the message is valid without it.
type fieldCase struct {
	message        proto.Message
	field, text    string
	client, server verdict
	why            string
}

var (
	up           = &tlsv3.UpstreamTlsContext{}
	down         = &tlsv3.DownstreamTlsContext{}
	both         = &tlsv3.CommonTlsContext{}
	mixed        = &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{}
	valid        = &tlsv3.CertificateValidationContext{}
	san          = &tlsv3.SubjectAltNameMatcher{}
	plug         = &tlsv3.CertificateProviderPluginInstance{}
	older        = &tlsv3.CommonTlsContext_CertificateProviderInstance{}
	regexMatcher = &matcherv3.RegexMatcher{}
	sock         = &corev3.TransportSocket{}

	stringMatcher = &matcherv3.StringMatcher{}
)

const (
	instance = `{ instance_name: "cert" }`
	aSAN     = `{ exact: "a" }`
	tlsType  = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3."
)

// tlsFields has each field of what secures connections. TestSecurityFields wants all of them, so
// that those of a newer library are decided on, too.
var tlsFields = []fieldCase{
	{up, "common_tls_context", "=", refused, absent, "if empty"},
	{up, "sni", `sni: "` + strings.Repeat("x", 256) + `"`, refused, absent, "above 255 bytes; otherwise it is sent (A101)"},
	{up, "auto_host_sni", `auto_host_sni: true`, obeyed, absent, "A101"},
	{up, "auto_sni_san_validation", `auto_sni_san_validation: true`, obeyed, absent, "A101; where no name is sent the matchers count"},
	{up, "allow_renegotiation", `allow_renegotiation: true`, harmless, absent, "there is none (A29)"},
	{up, "max_session_keys", `max_session_keys { value: 1 }`, harmless, absent, "sessions are not resumed (A29)"},
	{up, "enforce_rsa_key_usage", `enforce_rsa_key_usage { value: true }`, harmless, absent, "deprecated, without a meaning"},

	{down, "common_tls_context", "=", absent, refused, "if empty"},
	{down, "require_client_certificate", `require_client_certificate { value: true }`, absent, refused, "if there is nothing to check it by; otherwise obeyed"},
	{down, "require_sni", `require_sni { value: true }`, absent, refused, "A29"},
	{down, "session_ticket_keys", `session_ticket_keys {}`, absent, harmless, "keys are this server's own (A29)"},
	{down, "session_ticket_keys_sds_secret_config", `session_ticket_keys_sds_secret_config {}`, absent, harmless, "as above"},
	{down, "disable_stateless_session_resumption", `disable_stateless_session_resumption: true`, absent, obeyed, ""},
	{down, "disable_stateful_session_resumption", `disable_stateful_session_resumption: true`, absent, harmless, "there is none"},
	{down, "session_timeout", `session_timeout { seconds: 1 }`, absent, obeyed, "sessions are not resumed then"},
	{down, "ocsp_staple_policy", `ocsp_staple_policy: MUST_STAPLE`, absent, refused, "but for LENIENT_STAPLING (A29)"},
	{down, "full_scan_certs_on_sni_mismatch", `full_scan_certs_on_sni_mismatch { value: true }`, absent, harmless, "there is one certificate"},
	{down, "prefer_client_ciphers", `prefer_client_ciphers: true`, absent, harmless, "the order is crypto/tls's"},

	{both, "tls_params", `tls_params {}`, refused, refused, "A29"},
	{both, "tls_certificates", "=tls_certificates {} ", refused, refused, "unless a provider is named, which comes first"},
	{both, "tls_certificate_sds_secret_configs", "=tls_certificate_sds_secret_configs {} ", refused, refused, "as above"},
	{both, "tls_certificate_certificate_provider", "=tls_certificate_certificate_provider {} ", refused, refused, "as above"},
	{both, "tls_certificate_provider_instance", "=tls_certificate_provider_instance " + instance, obeyed, obeyed, ""},
	{both, "tls_certificate_certificate_provider_instance", "=tls_certificate_certificate_provider_instance " + instance, obeyed, obeyed, "deprecated"},
	{both, "custom_tls_certificate_selector", `custom_tls_certificate_selector {}`, refused, refused, ""},
	{both, "validation_context", `validation_context {}`, refused, refused, "if empty"},
	{both, "validation_context_sds_secret_config", `validation_context_sds_secret_config {}`, refused, refused, "A29"},
	{both, "combined_validation_context", `combined_validation_context { validation_context_certificate_provider_instance ` + instance + ` }`, obeyed, obeyed, "without a default one, too"},
	{both, "validation_context_certificate_provider", `validation_context_certificate_provider {}`, refused, refused, "deprecated"},
	{both, "validation_context_certificate_provider_instance", `validation_context_certificate_provider_instance ` + instance, obeyed, obeyed, "deprecated"},
	{both, "alpn_protocols", `alpn_protocols: "x"`, harmless, harmless, "gRPC needs h2 (A29)"},
	{both, "custom_handshaker", `custom_handshaker {}`, refused, refused, "A29"},
	{both, "key_log", `key_log {}`, harmless, harmless, "keys are written nowhere"},

	{mixed, "default_validation_context", `default_validation_context {}`, refused, refused, "if there are no roots in it or beside it"},
	{mixed, "validation_context_sds_secret_config", `validation_context_sds_secret_config {}`, refused, refused, ""},
	{mixed, "validation_context_certificate_provider", `validation_context_certificate_provider {}`, refused, refused, "deprecated"},
	{mixed, "validation_context_certificate_provider_instance", `validation_context_certificate_provider_instance ` + instance, obeyed, obeyed, "deprecated; ca_certificate_provider_instance comes first"},

	{valid, "trusted_ca", `trusted_ca {}`, harmless, harmless, "the provider comes first (A29); refused beside system_root_certs"},
	{valid, "ca_certificate_provider_instance", "=ca_certificate_provider_instance " + instance, obeyed, obeyed, ""},
	{valid, "system_root_certs", "=system_root_certs {}", obeyed, refused, "A82"},
	{valid, "watched_directory", `watched_directory {}`, harmless, harmless, "A29"},
	{valid, "verify_certificate_spki", `verify_certificate_spki: "x"`, refused, refused, "A29"},
	{valid, "verify_certificate_hash", `verify_certificate_hash: "x"`, refused, refused, "A29"},
	{valid, "match_typed_subject_alt_names", `match_typed_subject_alt_names { san_type: URI matcher ` + aSAN + ` }`, obeyed, refused, "in place of the untyped"},
	{valid, "match_subject_alt_names", `match_subject_alt_names ` + aSAN, obeyed, refused, "A29"},
	{valid, "require_signed_certificate_timestamp", `require_signed_certificate_timestamp { value: true }`, refused, refused, "A29"},
	{valid, "crl", `crl {}`, refused, refused, "A29"},
	{valid, "allow_expired_certificate", `allow_expired_certificate: true`, harmless, harmless, "none is accepted (A29)"},
	{valid, "trust_chain_verification", `trust_chain_verification: ACCEPT_UNTRUSTED`, harmless, harmless, "none is accepted (A29)"},
	{valid, "custom_validator_config", `custom_validator_config {}`, refused, refused, "A29"},
	{valid, "only_verify_leaf_cert_crl", `only_verify_leaf_cert_crl: true`, harmless, harmless, "crl is refused"},
	{valid, "max_verify_depth", `max_verify_depth { value: 1 }`, obeyed, obeyed, "0 is refused"},
	{valid, "suppress_client_ca_list", `suppress_client_ca_list: true`, harmless, obeyed, ""},

	{san, "san_type", `matcher ` + aSAN, refused, absent, "if it is missing, or OTHER_NAME"},
	{san, "matcher", `san_type: URI`, refused, absent, "if it is missing, or of a kind that is not known"},
	{san, "oid", `san_type: URI matcher ` + aSAN + ` oid: "1.2"`, harmless, absent, "for OTHER_NAME alone"},

	{stringMatcher, "exact", `exact: ""`, obeyed, absent, ""},
	{stringMatcher, "prefix", `prefix: ""`, refused, absent, "if empty"},
	{stringMatcher, "suffix", `suffix: ""`, refused, absent, "if empty"},
	{stringMatcher, "safe_regex", `safe_regex { regex: "(" }`, refused, absent, "if it is none"},
	{stringMatcher, "contains", `contains: ""`, refused, absent, "if empty"},
	{stringMatcher, "custom", `custom {}`, refused, absent, ""},
	{stringMatcher, "ignore_case", `exact: "x" ignore_case: true`, obeyed, absent, "but for safe_regex (A63)"},
	{regexMatcher, "google_re2", `google_re2 {} regex: "a"`, harmless, absent, "it bounds the size of Envoy's programs; deprecated"},
	{regexMatcher, "regex", `regex: "a)(b"`, refused, absent, "if it is none"},

	{plug, "instance_name", `instance_name: "x"`, refused, refused, "if the bootstrap configuration does not have it"},
	{plug, "certificate_name", `instance_name: "cert" certificate_name: "c"`, obeyed, obeyed, ""},
	{older, "instance_name", `instance_name: "x"`, refused, refused, "if the bootstrap configuration does not have it"},
	{older, "certificate_name", `instance_name: "cert" certificate_name: "c"`, obeyed, obeyed, ""},
	{sock, "name", `name: "x" typed_config { [` + tlsType + `UpstreamTlsContext] { common_tls_context { ` + roots + ` } } }`, refused, refused, "if it is another"},
	{sock, "typed_config", `name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.config.route.v3.Route] {} }`, refused, refused, "if it is of another type"},
}

// tlsTexts are a cluster and a listener with the field.
func tlsTexts(f *fieldCase) (client, server string) {
	text, bare := strings.CutPrefix(f.text, "=")
	unless := func(c bool, rest string) string {
		if c {
			return text
		}
		return rest + " " + text
	}
	const ca = "ca_certificate_provider_instance " + instance
	matching := func(matcher string) string {
		return eds(security(`validation_context { ` + ca + ` match_subject_alt_names { ` + matcher + ` } }`))
	}
	hasContext := strings.Contains(f.field, "validation_context")
	switch f.message {
	case sock:
		return eds(`transport_socket { ` + text + ` }`), serving(`filter_chains { ` + chain(`transport_socket { `+text+` }`) + ` }`)
	case plug:
		return eds(security(`validation_context { ca_certificate_provider_instance { ` + text + ` } }`)),
			downstream(`common_tls_context { tls_certificate_provider_instance { ` + text + ` } }`)
	case older:
		return eds(security(`validation_context_certificate_provider_instance { ` + text + ` }`)),
			downstream(`common_tls_context { tls_certificate_certificate_provider_instance { ` + text + ` } }`)
	case stringMatcher:
		return matching(text), ""
	case regexMatcher:
		return matching(`safe_regex { ` + text + ` }`), ""
	case up:
		return eds(upstream(unless(bare, `common_tls_context { `+roots+` }`))), ""
	case down:
		return "", downstream(unless(bare, `common_tls_context { `+identity+` }`))
	case both:
		return eds(security(unless(hasContext, roots))), downstream(`common_tls_context { ` + unless(bare, identity) + ` }`)
	case mixed:
		text = `combined_validation_context { ` + unless(!strings.Contains(f.field, "validation_context_sds") && !strings.HasSuffix(f.field, "_provider"), `default_validation_context { `+ca+` }`) + ` }`
	case valid:
		text = `validation_context { ` + unless(bare, ca) + ` }`
	case san:
		text = `validation_context { ` + ca + ` match_typed_subject_alt_names { ` + text + ` } }`
	}
	return eds(security(text)), downstream(`require_client_certificate { value: true } common_tls_context { ` + identity + text + ` }`)
}

func (v verdict) check(t *testing.T, f *fieldCase, role string, err error) {
	t.Helper()
	if v != absent && (err != nil) != (v == refused) {
		t.Errorf("%s.%s is %s by the %s; got %v", f.message.ProtoReflect().Descriptor().Name(), f.field, v, role, err)
	}
}

// TestSecurityFields: each field of a TLS context is refused or obeyed, or does no harm if it is
// skipped; internal/xds/README.md has the same table.
func TestSecurityFields(t *testing.T) {
	var table strings.Builder
	decided := make(fieldtable.Decisions)
	for i := range tlsFields {
		f := &tlsFields[i]
		d := f.message.ProtoReflect().Descriptor()
		obeys := func(v verdict) bool {
			return v == obeyed || v == refused && (strings.HasPrefix(f.why, "if ") || strings.HasPrefix(f.why, "above "))
		}
		decided.Add(d, f.field, obeys(f.client) || obeys(f.server))
		fmt.Fprintf(&table, "| %s | `%s` | %s | %s | %s |\n", d.Name(), f.field, f.client, f.server, f.why)
		client, server := tlsTexts(f)
		if f.client != absent {
			_, err := ParseCluster(context(t), raw(t, newCluster(), client))
			f.client.check(t, f, "client", err)
		}
		if f.server != absent {
			_, err := ParseListener(context(t), raw(t, newListener(), server))
			f.server.check(t, f, "server", err)
		}
	}
	for _, missing := range decided.Missing(up.ProtoReflect().Descriptor(), down.ProtoReflect().Descriptor(), sock.ProtoReflect().Descriptor()) {
		t.Errorf("nobody has decided on %s", missing)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil || !strings.Contains(string(readme), table.String()) {
		t.Errorf("internal/xds/README.md has another table (%v); want\n%s", err, table.String())
	}
}

// TestSecurityFieldsTogether: fields that contradict each other, and what is empty.
func TestSecurityFieldsTogether(t *testing.T) {
	const combinedOf = `combined_validation_context { default_validation_context { ca_certificate_provider_instance { instance_name: "cert" certificate_name: "new" } } validation_context_certificate_provider_instance { instance_name: "cert" certificate_name: "old" } }`
	tls := parseCluster(t, plain(t), eds(security(combinedOf+` tls_certificate_provider_instance { instance_name: "cert" certificate_name: "new" } tls_certificate_certificate_provider_instance { instance_name: "cert" certificate_name: "old" }`))).TLS
	if tls.Roots.Certificate != "new" || tls.Identity.Certificate != "new" {
		t.Errorf("%+v", tls)
	}
	// The typed names count, and those without a type are not added to them.
	tls = parseCluster(t, plain(t), eds(security(`validation_context { ca_certificate_provider_instance { instance_name: "cert" } match_subject_alt_names { exact: "a" } match_typed_subject_alt_names { san_type: DNS matcher { exact: "b" } } max_verify_depth { value: 3 } }`))).TLS
	if len(tls.SANs) != 1 || tls.SANs[0].Kind != DNSSAN || !tls.SANs[0].Name.Match("b") || tls.MaxDepth != 3 {
		t.Errorf("%+v", tls)
	}
	// Roots without a context: a client's certificate is checked against them, and has to be there.
	for _, field := range []string{
		`validation_context_certificate_provider_instance { instance_name: "cert" certificate_name: "ca" }`,
		`combined_validation_context { validation_context_certificate_provider_instance { instance_name: "cert" certificate_name: "ca" } }`,
	} {
		for _, required := range []bool{false, true} {
			tls := parseListener(t, plain(t), downstream(fmt.Sprintf(`require_client_certificate { value: %t } common_tls_context { %s %s }`, required, identity, field))).Server.Chains[0].TLS
			if tls.Roots != (CertProvider{"cert", "ca"}) || tls.RequireClientCert != required {
				t.Errorf("%s: %+v", field, tls)
			}
		}
		if tls := parseCluster(t, plain(t), eds(security(field))).TLS; tls.Roots != (CertProvider{"cert", "ca"}) || len(tls.SANs) != 0 {
			t.Errorf("%s: %+v", field, tls)
		}
	}
	const field = "transport_socket.typed_config.common_tls_context"
	checkBad(t, newCluster, ParseCluster, []bad{
		{eds(security(`validation_context_certificate_provider_instance { instance_name: "x" }`)), field + `.validation_context_certificate_provider_instance.instance_name: "x"`},
		{eds(security(`validation_context_certificate_provider_instance {}`)), field + `.validation_context_certificate_provider_instance.instance_name: ""`},
		{eds(security(`combined_validation_context { validation_context_certificate_provider_instance {} }`)), field + `.combined_validation_context.validation_context_certificate_provider_instance.instance_name: ""`},
		{eds(security(`validation_context { system_root_certs {} trusted_ca {} }`)), field + ".validation_context.trusted_ca"},
		{eds(security(`validation_context { max_verify_depth {} ca_certificate_provider_instance { instance_name: "cert" } }`)), "max_verify_depth"},
		{eds(`transport_socket_matches { name: "x" }`), "transport_socket_matches"},
		{eds(security(roots) + ` transport_socket_matches { name: "x" }`), "transport_socket_matches"},
	})
	checkBad(t, newListener, ParseListener, []bad{
		{downstream(`require_client_certificate { value: true } common_tls_context { ` + identity + ` combined_validation_context {} }`), "require_client_certificate"},
		{downstream(`common_tls_context { ` + identity + ` combined_validation_context { default_validation_context { ca_certificate_provider_instance { instance_name: "cert" } match_typed_subject_alt_names { san_type: DNS matcher { exact: "b" } } } } }`), "match_subject_alt_names"},
	})
	tlsOf := parseListener(t, plain(t), downstream(`session_timeout {} common_tls_context { `+identity+` validation_context { ca_certificate_provider_instance { instance_name: "cert" } max_verify_depth { value: 2 } suppress_client_ca_list: true } }`)).Server.Chains[0].TLS
	if !tlsOf.NoResumption || tlsOf.MaxDepth != 2 || !tlsOf.HideRoots {
		t.Errorf("%+v", tlsOf)
	}
}

// TestUnknownSecurityFields: a check of a newer control plane's is not skipped.
func TestUnknownSecurityFields(t *testing.T) {
	newer := protowire.AppendBytes(protowire.AppendTag(nil, 1234, protowire.BytesType), []byte("x"))
	for _, m := range []proto.Message{up, both, mixed, valid, san} {
		wrapped := &tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{}}
		in := proto.Clone(m)
		in.ProtoReflect().SetUnknown(newer)
		context := wrapped.CommonTlsContext
		switch in := in.(type) {
		case *tlsv3.UpstreamTlsContext:
			wrapped = in
		case *tlsv3.CommonTlsContext:
			wrapped.CommonTlsContext = in
		case *tlsv3.CommonTlsContext_CombinedCertificateValidationContext:
			context.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{CombinedValidationContext: in}
		case *tlsv3.CertificateValidationContext:
			context.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: in}
		case *tlsv3.SubjectAltNameMatcher:
			context.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{MatchTypedSubjectAltNames: []*tlsv3.SubjectAltNameMatcher{in}}}
		}
		if _, err := readClientTLS(plain(t), wrapped); err == nil || !strings.Contains(err.Error(), "field 1234") {
			t.Errorf("%T: %v", m, err)
		}
		server := &tlsv3.DownstreamTlsContext{CommonTlsContext: wrapped.GetCommonTlsContext()}
		if m == up {
			server.ProtoReflect().SetUnknown(newer)
		}
		if _, err := serverTLSOf(plain(t), server); err == nil || !strings.Contains(err.Error(), "field 1234") {
			t.Errorf("%T, server: %v", m, err)
		}
	}
}
