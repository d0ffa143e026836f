// SPDX-License-Identifier: Apache-2.0

package resource

import "testing"

// security is a transport socket of a cluster with fields of its CommonTlsContext.
func security(common string) string { return upstream(`common_tls_context { ` + common + ` }`) }

// upstream is a transport socket of a cluster with fields of its UpstreamTlsContext.
func upstream(fields string) string {
	return `transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] { ` + fields + ` } } }`
}

const (
	roots    = `validation_context { ca_certificate_provider_instance { instance_name: "cert" certificate_name: "ca" } }`
	identity = `tls_certificate_provider_instance { instance_name: "cert" certificate_name: "me" } `
)

func TestA29Cluster(t *testing.T) {
	tls := parseCluster(t, plain(t), eds(security(roots))).TLS
	if tls == nil || tls.Roots != (CertProvider{"cert", "ca"}) || tls.Identity != (CertProvider{}) {
		t.Errorf("%+v", tls)
	}
	tls = parseCluster(t, plain(t), eds(security(identity+`combined_validation_context { default_validation_context { ca_certificate_provider_instance { instance_name: "cert" } match_subject_alt_names { exact: "a" } match_subject_alt_names { suffix: "b" } } }`))).TLS
	if tls.Identity != (CertProvider{"cert", "me"}) || len(tls.SANs) != 2 || !tls.SANs[1].Name.Match("cb") {
		t.Errorf("%+v", tls)
	}
	// The older names of the fields.
	tls = parseCluster(t, plain(t), eds(security(`tls_certificate_certificate_provider_instance { instance_name: "cert" } combined_validation_context { default_validation_context {} validation_context_certificate_provider_instance { instance_name: "cert" } }`))).TLS
	if tls.Identity.Instance != "cert" || tls.Roots.Instance != "cert" {
		t.Errorf("%+v", tls)
	}
	context := func(fields string) string {
		return eds(security(`validation_context { ca_certificate_provider_instance { instance_name: "cert" } ` + fields + ` }`))
	}
	const field = "transport_socket.typed_config.common_tls_context"
	checkBad(t, newCluster, ParseCluster, []bad{
		{eds(`transport_socket { name: "x" }`), `transport_socket.name: "x"`},
		{eds(`transport_socket { name: "envoy.transport_sockets.tls" }`), "transport_socket.typed_config: type"},
		{eds(`transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.config.cluster.v3.Cluster] {} } }`), "transport_socket.typed_config: type"},
		{eds(upstream("")), field + ": missing"},
		{eds(security("")), field + ": there is no validation_context"},
		{eds(security("combined_validation_context {}")), field + ": there is no validation_context"},
		{eds(security("validation_context {}")), "ca_certificate_provider_instance: missing"},
		{eds(security(`validation_context_sds_secret_config {}`)), field + ": validation_context_type"},
		{eds(security(`validation_context { ca_certificate_provider_instance { instance_name: "x" } }`)), field + `.validation_context.ca_certificate_provider_instance.instance_name: "x"`},
		{eds(security(roots + ` tls_certificate_provider_instance { instance_name: "x" }`)), field + `.tls_certificate_provider_instance.instance_name: "x"`},
		{eds(security(roots + ` tls_params {}`)), field + ".tls_params"},
		{eds(security(roots + ` custom_handshaker {}`)), field + ".custom_handshaker"},
		{eds(security(roots + ` tls_certificates {}`)), field + ".tls_certificates"},
		{eds(security(roots + ` tls_certificate_sds_secret_configs {}`)), field + ".tls_certificate_sds_secret_configs"},
		{context(`verify_certificate_spki: "x"`), "validation_context.verify_certificate_spki"},
		{context(`verify_certificate_hash: "x"`), "validation_context.verify_certificate_hash"},
		{context(`require_signed_certificate_timestamp { value: true }`), "validation_context.require_signed_certificate_timestamp"},
		{context(`crl {}`), "validation_context.crl"},
		{context(`custom_validator_config {}`), "validation_context.custom_validator_config"},
		{context(`match_subject_alt_names { safe_regex { regex: "(" } }`), "validation_context.match_subject_alt_names[0]: safe_regex"},
		{context(`match_subject_alt_names { prefix: "" }`), "match_subject_alt_names[0]"},
	})
}

func TestA82SystemRoots(t *testing.T) {
	text := eds(security(`validation_context { system_root_certs {} }`))
	if tls := parseCluster(t, context(t), text).TLS; tls == nil || tls.Roots != (CertProvider{}) {
		t.Errorf("%+v", tls)
	}
	if _, err := ParseCluster(plain(t), raw(t, newCluster(), text)); err == nil {
		t.Error("accepted though switched off")
	}
	both := eds(security(`validation_context { system_root_certs {} ca_certificate_provider_instance { instance_name: "cert" } }`))
	if tls := parseCluster(t, context(t), both).TLS; tls.Roots != (CertProvider{"cert", ""}) {
		t.Errorf("%+v", tls)
	}
}

func TestA86Cluster(t *testing.T) {
	wrap := func(inner string) string {
		return eds(`transport_socket { name: "p" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport] { ` + inner + ` } } }`)
	}
	if c := parseCluster(t, context(t), wrap("")); !c.HTTPConnect || c.TLS != nil {
		t.Errorf("%+v", c)
	}
	if c := parseCluster(t, context(t), wrap(security(roots))); !c.HTTPConnect || c.TLS == nil {
		t.Errorf("%+v", c)
	}
	if _, err := ParseCluster(plain(t), raw(t, newCluster(), wrap(""))); err == nil {
		t.Error("accepted though switched off")
	}
	checkBad(t, newCluster, ParseCluster, []bad{
		{wrap(`transport_socket { name: "x" }`), "transport_socket.typed_config.transport_socket.name"},
		{wrap(security("")), "transport_socket.typed_config.transport_socket.typed_config.common_tls_context"},
	})
}

func TestA101SNI(t *testing.T) {
	text := eds(upstream(`sni: "s" auto_host_sni: true auto_sni_san_validation: true common_tls_context { ` + roots + ` }`))
	if tls := parseCluster(t, context(t), text).TLS; tls.SNI != "s" || !tls.AutoHostSNI || !tls.AutoSANValidation {
		t.Errorf("%+v", tls)
	}
	if tls := parseCluster(t, plain(t), text).TLS; tls.SNI != "" || tls.AutoHostSNI || tls.AutoSANValidation {
		t.Errorf("switched off: %+v", tls)
	}
}
