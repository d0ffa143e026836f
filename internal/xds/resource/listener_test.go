// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"
)

func newListener() proto.Message { return &listenerv3.Listener{} }

const (
	router = `http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } `
	fault  = `http_filters { name: "fault" typed_config { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] {} } } `
	rds    = `rds { route_config_name: "r" config_source { ads {} } } `
)

func hcm(fields string) string {
	return `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] { ` + fields + ` } `
}

// api is a client's listener with fields of its HttpConnectionManager.
func api(fields string) string {
	return `name: "l" api_listener { api_listener { ` + hcm(fields) + ` } }`
}

// chain is a filter chain's fields.
func chain(fields string) string {
	return fields + ` filters { name: "hcm" typed_config { ` + hcm(rds+router) + ` } } `
}

// serving is a server's listener with more fields.
func serving(fields string) string { return `name: "l" ` + addr("10.0.0.1", 80) + ` ` + fields }

// matches is a filter chain with a name and a match.
func matches(name, fields string) string {
	return `filter_chains { ` + chain(`name: "`+name+`" filter_chain_match { `+fields+` }`) + ` } `
}

func parseListener(t *testing.T, c *Context, text string) *Listener {
	t.Helper()
	out, err := ParseListener(c, raw(t, newListener(), text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func TestA27Listener(t *testing.T) {
	l := parseListener(t, plain(t), api(rds+router))
	if l.Name != "l" || l.Server != nil || l.API.RouteName != "r" || l.API.Routes != nil || len(l.API.Filters) != 1 {
		t.Errorf("%+v", l)
	}
	l = parseListener(t, plain(t), api(`route_config { name: "inline" } common_http_protocol_options { max_stream_duration { seconds: 5 } } `+router))
	if l.API.Routes.Name != "inline" || l.API.MaxDuration != 5*time.Second { // A31
		t.Errorf("%+v", l.API)
	}
	const field = "api_listener.api_listener"
	checkBad(t, newListener, ParseListener, []bad{
		{`api_listener {}`, field + ": type"},
		{`api_listener { api_listener { [type.googleapis.com/envoy.config.listener.v3.Listener] {} } }`, field + ": type"},
		{api(router), field + ".route_specifier: missing"},
		{api(`scoped_routes {} ` + router), field + ".route_specifier: type"},
		{api(`rds { route_config_name: "r" } ` + router), field + ".rds.config_source"},
		{api(`rds { config_source { ads {} } } ` + router), field + ".rds.route_config_name: empty"},
		{api(`route_config { virtual_hosts { domains: "" } } ` + router), field + ".route_config.virtual_hosts[0].domains[0]"},
		{api(rds + `common_http_protocol_options { max_stream_duration { seconds: -1 } } ` + router), "common_http_protocol_options.max_stream_duration"},
		{api(rds + `xff_num_trusted_hops: 1 ` + router), field + ".xff_num_trusted_hops"},                         // A41
		{api(rds + `original_ip_detection_extensions {} ` + router), field + ".original_ip_detection_extensions"}, // A41
	})
}

func TestA39Filters(t *testing.T) {
	const unknown = `[type.googleapis.com/envoy.config.listener.v3.Listener] {}`
	f := parseListener(t, plain(t), api(rds+fault+`http_filters { name: "x" is_optional: true typed_config { `+unknown+` } } `+router)).API.Filters
	if len(f) != 2 || f[0].Name != "fault" || !f[1].Kind.Terminal() {
		t.Errorf("%+v", f)
	}
	checkBad(t, newListener, ParseListener, []bad{
		{api(rds), "http_filters: empty"},
		{api(rds + fault), "http_filters: the last one"},
		{api(rds + router + fault), "http_filters: \"router\" is a terminal filter"},
		{api(rds + fault + fault + router), "http_filters[1]: name \"fault\" is there twice"},
		{api(rds + `http_filters { typed_config {} } ` + router), "http_filters[0]: name is empty"},
		{api(rds + `http_filters { name: "x" } ` + router), "http_filters[0].typed_config: missing"},
		{api(rds + `http_filters { name: "x" typed_config { ` + unknown + ` } } ` + router), "http_filters[0].typed_config: no HTTP filter"},
		{api(rds + `http_filters { name: "x" typed_config { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { delay {} } } } ` + router), "http_filters[0].typed_config: delay"},
		{serving(`filter_chains { filters { name: "h" typed_config { ` + hcm(rds+fault+router) + ` } } }`), "http_filters[0].typed_config: filter \"envoy.extensions.filters.http.fault.v3.HTTPFault\" is not supported on this side"},
	})
}

func TestA36Listener(t *testing.T) {
	l := parseListener(t, plain(t), serving(`filter_chains { `+chain("")+` } default_filter_chain { `+chain("")+` }`))
	if l.API != nil || l.Server.Address != "10.0.0.1:80" || len(l.Server.Chains) != 1 || l.Server.Default == nil || l.Server.Chains[0].TLS != nil {
		t.Errorf("%+v", l)
	}
	many := func(field string, n int) string { return strings.Repeat(field+" ", n) }
	const first = "filter_chains[0]"
	checkBad(t, newListener, ParseListener, []bad{
		{`name: "l"`, "address.socket_address: missing"},
		{serving(""), "filter_chains: empty"},
		{serving(`listener_filters {}`), "listener_filters"},
		{serving(`use_original_dst { value: true }`), "use_original_dst"},
		{serving(`filter_chains {}`), first + ".filters: there is no HttpConnectionManager"},
		{serving(`default_filter_chain {}`), "default_filter_chain.filters"},
		{serving(`filter_chains { filters { typed_config { ` + hcm(rds+router) + ` } } }`), first + ".filters[0]: name"},
		{serving(`filter_chains { filters { name: "x" typed_config { [type.googleapis.com/envoy.config.listener.v3.Listener] {} } } }`), first + ".filters[0].typed_config: type"},
		{serving(`filter_chains { ` + chain("") + ` filters { name: "x" typed_config { ` + hcm(rds+router) + ` } } }`), first + ".filters[1]: comes after"},
		{serving(`filter_chains { ` + chain("") + chain("") + ` }`), first + ".filters[1]: name \"hcm\""},
		{serving(matches("a", `source_ports: 0`)), first + ".filter_chain_match.source_ports[0]"},
		{serving(matches("a", `source_ports: 70000`)), "source_ports[0]"},
		{serving(matches("a", `prefix_ranges { address_prefix: "x" }`)), first + ".filter_chain_match.prefix_ranges[0].address_prefix"},
		{serving(matches("a", `source_prefix_ranges { address_prefix: "" }`)), "source_prefix_ranges[0].address_prefix"},
		{serving(matches("a", `source_type: 9`)), "source_type"},
		// The same connections, whatever is written.
		{serving(matches("a", "") + matches("b", "")), "filter_chains[1].filter_chain_match: another chain"},
		{serving(matches("a", `prefix_ranges { address_prefix: "10.1.2.3" prefix_len { value: 16 } }`) + matches("b", `prefix_ranges { address_prefix: "10.1.9.9" prefix_len { value: 16 } }`)), "another chain"},
		{serving(matches("a", `prefix_ranges { address_prefix: "10.1.2.3" prefix_len { value: 32 } }`) + matches("b", `prefix_ranges { address_prefix: "10.1.2.3" prefix_len { value: 99 } }`)), "another chain"},
		{serving(matches("a", `source_ports: 1 source_ports: 2`) + matches("b", `source_ports: 2`)), "another chain"},
		{serving(matches("a", `server_names: "x"`) + matches("b", `server_names: "X"`)), "another chain"},
		{serving(matches("a", `destination_port { value: 1 } application_protocols: "h2"`) + matches("b", `destination_port { value: 1 } application_protocols: "h3" application_protocols: "h2"`)), "another chain"},
		{serving(matches("a", many("source_ports: 7", 300)+many(`server_names: "x"`, 300))), "combinations"},
		{serving(matches("a", many("source_ports: 7", 1<<16)+many(`server_names: "x"`, 1<<16))), "combinations"}, // 1<<32 of them
	})
}

func TestA36Matching(t *testing.T) {
	l := parseListener(t, plain(t), serving(
		matches("any", "")+
			matches("dst16", `prefix_ranges { address_prefix: "192.168.0.0" prefix_len { value: 16 } }`)+
			matches("dst24src", `prefix_ranges { address_prefix: "192.168.1.0" prefix_len { value: 24 } } source_prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } }`)+
			matches("v6", `prefix_ranges { address_prefix: "::" }`)+
			matches("raw", `prefix_ranges { address_prefix: "192.168.2.0" prefix_len { value: 24 } } transport_protocol: "raw_buffer" source_type: EXTERNAL`)+
			matches("notls", `prefix_ranges { address_prefix: "192.168.2.0" prefix_len { value: 24 } } transport_protocol: "tls"`)+
			matches("notraw", `prefix_ranges { address_prefix: "192.168.2.0" prefix_len { value: 24 } }`)+
			matches("local", `prefix_ranges { address_prefix: "192.168.3.0" prefix_len { value: 24 } } source_type: SAME_IP_OR_LOOPBACK`)+
			matches("anysrc", `prefix_ranges { address_prefix: "192.168.3.0" prefix_len { value: 24 } } source_prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } }`)+
			matches("port", `prefix_ranges { address_prefix: "192.168.3.0" prefix_len { value: 24 } } source_prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } } source_ports: 7`)+
			matches("never", `prefix_ranges { address_prefix: "192.168.1.1" prefix_len { value: 32 } } server_names: "x"`)+
			`default_filter_chain { `+chain(`name: "default"`)+` }`)).Server
	for _, tt := range []struct{ client, server, want string }{
		{"1.2.3.4:5", "10.9.9.9:80", "any"},
		{"1.2.3.4:5", "192.168.9.9:80", "dst16"},
		{"10.2.3.4:5", "192.168.1.1:80", "dst24src"},
		{"[::ffff:10.2.3.4]:5", "[::ffff:192.168.1.1]:80", "dst24src"},
		{"1.2.3.4:5", "192.168.1.1:80", "default"}, // nobody turns back to dst16
		{"[2001:db8::1]:5", "[2001:db8::2]:80", "v6"},
		{"1.2.3.4:5", "192.168.2.1:80", "raw"},
		{"127.0.0.1:5", "192.168.2.1:80", "default"}, // nor to notraw
		{"127.0.0.1:5", "192.168.3.1:80", "local"},
		{"192.168.3.1:5", "192.168.3.1:80", "local"},
		{"10.0.0.1:5", "192.168.3.1:80", "anysrc"},
		{"10.0.0.1:7", "192.168.3.1:80", "port"},
		{"11.0.0.1:7", "192.168.3.1:80", "default"},
	} {
		client, server := netip.MustParseAddrPort(tt.client), netip.MustParseAddrPort(tt.server)
		if got := l.Match(client, server); got.Name != tt.want {
			t.Errorf("%s to %s: %s; want %s", tt.client, tt.server, got.Name, tt.want)
		}
		if n := testing.AllocsPerRun(10, func() { l.Match(client, server) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
	none := parseListener(t, plain(t), serving(matches("a", `source_ports: 7`))).Server
	if got := none.Match(netip.MustParseAddrPort("1.2.3.4:5"), netip.MustParseAddrPort("1.2.3.4:80")); got != nil {
		t.Errorf("%+v", got)
	}
}

// downstream is a filter chain with fields of its DownstreamTlsContext.
func downstream(fields string) string {
	return serving(`filter_chains { ` + chain(`transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext] { `+fields+` } } }`) + ` }`)
}

func TestA29Listener(t *testing.T) {
	tls := parseListener(t, plain(t), downstream(`common_tls_context { `+identity+` }`)).Server.Chains[0].TLS
	if *tls != (ServerTLS{Identity: CertProvider{"cert", "me"}}) {
		t.Errorf("%+v", tls)
	}
	tls = parseListener(t, plain(t), downstream(`require_client_certificate { value: true } common_tls_context { `+identity+roots+` }`)).Server.Chains[0].TLS
	if *tls != (ServerTLS{Identity: CertProvider{"cert", "me"}, Roots: CertProvider{"cert", "ca"}, RequireClientCert: true}) {
		t.Errorf("%+v", tls)
	}
	const field = "filter_chains[0].transport_socket.typed_config"
	checkBad(t, newListener, ParseListener, []bad{
		{serving(`filter_chains { ` + chain(`transport_socket { name: "x" }`) + ` }`), "filter_chains[0].transport_socket.name"},
		{serving(`filter_chains { ` + chain(`transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] {} } }`) + ` }`), field + ": type"},
		{downstream(``), field + ".common_tls_context: missing"},
		{downstream(`common_tls_context {}`), field + ".common_tls_context.tls_certificate_provider_instance: missing"},
		{downstream(`require_sni { value: true } common_tls_context { ` + identity + ` }`), field + ".require_sni"},
		{downstream(`ocsp_staple_policy: STRICT_STAPLING common_tls_context { ` + identity + ` }`), field + ".ocsp_staple_policy"},
		{downstream(`require_client_certificate { value: true } common_tls_context { ` + identity + ` }`), field + ".require_client_certificate"},
		{downstream(`common_tls_context { ` + identity + ` validation_context {} }`), "ca_certificate_provider_instance: missing"},
		{downstream(`common_tls_context { ` + identity + ` validation_context { system_root_certs {} } }`), "ca_certificate_provider_instance: missing"}, // A82
		{downstream(`common_tls_context { ` + identity + ` validation_context { ca_certificate_provider_instance { instance_name: "cert" } match_subject_alt_names { exact: "a" } } }`), "match_subject_alt_names"},
		{downstream(`common_tls_context { ` + identity + ` tls_params {} }`), "tls_params"},
	})
}

func FuzzListener(f *testing.F) {
	for _, text := range []string{
		api(rds + fault + router),
		serving(matches("a", `prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } } source_ports: 7`) + matches("b", `source_type: EXTERNAL`)),
		downstream(`common_tls_context { ` + identity + roots + ` }`),
	} {
		f.Add(raw(f, newListener(), text))
	}
	c := context(f)
	c.Features.PanicRecovery = false
	client, server := netip.MustParseAddrPort("10.0.0.2:7"), netip.MustParseAddrPort("10.0.0.1:80")
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseListener(c, b)
		if err != nil {
			return
		}
		if (l.API == nil) == (l.Server == nil) {
			t.Errorf("%+v", l)
		}
		if l.Server != nil {
			l.Server.Match(client, server)
		}
	})
}
