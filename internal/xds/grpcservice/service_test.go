// SPDX-License-Identifier: Apache-2.0

package grpcservice

import (
	"context"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/google_default/v3" // in texts
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/insecure/v3"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/prototext"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// untrusted allows target "dns:///a".
func untrusted(t testing.TB) httpfilter.Origin {
	t.Helper()
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers":[{"server_uri":"x","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"},
		"certificate_providers":{"files":{"plugin_name":"file_watcher","config":{"ca_certificate_file":%q,"certificate_file":%q,"private_key_file":%q}}},
		"allowed_grpc_services":{"dns:///a":{"channel_creds":[{"type":"unknown"},{"type":"insecure"}]}}}`, files.CA, files.Cert, files.Key), bootstrap.Options{Services: true})
	if err != nil {
		t.Fatal(err)
	}
	return httpfilter.Origin{Bootstrap: b}
}

func trusted(t testing.TB) httpfilter.Origin {
	o := untrusted(t)
	o.Trusted = true
	return o
}

func parse(t testing.TB, text string, o httpfilter.Origin) (*Service, error) {
	t.Helper()
	in := &corev3.GrpcService{}
	if err := prototext.Unmarshal([]byte(text), in); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return Parse(in, o)
}

const (
	allowed = `google_grpc { target_uri: "dns:///a" } `
	prefix  = "type.googleapis.com/envoy.extensions.grpc_service.channel_credentials."
	plain   = `channel_credentials_plugin { [` + prefix + `insecure.v3.InsecureCredentials] {} } `
)

func TestA102Untrusted(t *testing.T) {
	o := untrusted(t)
	s, err := parse(t, allowed+`timeout { seconds: 2 } initial_metadata { key: "a" value: "1" } initial_metadata { key: "a-bin" raw_value: "\001" }`, o)
	if err != nil || s.Target != "dns:///a" || s.Timeout != 2*time.Second || s.Metadata["a"][0] != "1" || s.Metadata["a-bin"][0] != "\x01" {
		t.Fatalf("%+v, %v", s, err)
	}
	ctx, cancel := s.Context(metadata.AppendToOutgoingContext(t.Context(), "b", "2"))
	defer cancel()
	if md, _ := metadata.FromOutgoingContext(ctx); len(md["b"]) > 0 || len(md["a"]) != 1 {
		t.Errorf("%v", md)
	}
	if _, ok := ctx.Deadline(); !ok {
		t.Error("no deadline")
	}
	for text, want := range map[string]string{
		``:                                           "google_grpc",
		`envoy_grpc { cluster_name: "c" }`:           "google_grpc",
		`google_grpc {}`:                             "google_grpc.target_uri: empty",
		`google_grpc { target_uri: "dns:///b" }`:     `google_grpc.target_uri: "dns:///b" is not in allowed_grpc_services`,
		`google_grpc { target_uri: "%" }`:            "google_grpc.target_uri",
		allowed + `timeout {}`:                       "timeout: 0s",
		allowed + `timeout { seconds: -1 }`:          "timeout: -1s",
		allowed + `timeout { nanos: -1 seconds: 1 }`: "timeout",
		allowed + `initial_metadata {}`:              "initial_metadata[0]: key",
		allowed + `initial_metadata { key: ":a" }`:   "initial_metadata[0]: key",
		allowed + `initial_metadata { key: "host" }`: "initial_metadata[0]: key",
		allowed + `initial_metadata { key: "A" }`:    "initial_metadata[0]: key",
		allowed + `initial_metadata { key: "` + strings.Repeat("a", 16384) + `" }`:            "initial_metadata[0]: key",
		allowed + `initial_metadata { key: "a" value: "` + strings.Repeat("a", 16384) + `" }`: "initial_metadata[0]: value",
		allowed + `initial_metadata { key: "a" value: "\001" }`:                               "initial_metadata[0]: value",
	} {
		if s, err := parse(t, text, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %+v, %v; want %s", text, s, err, want)
		}
	}
	if s, err := Parse(nil, o); err == nil {
		t.Errorf("no message: %+v", s)
	}
	if s, err := parse(t, allowed, httpfilter.Origin{}); err == nil {
		t.Errorf("no bootstrap: %+v", s)
	}
}

func TestA102Trusted(t *testing.T) {
	o := trusted(t)
	const token = `call_credentials_plugin { [type.googleapis.com/envoy.extensions.grpc_service.call_credentials.access_token.v3.AccessTokenCredentials] { token: "t" } } `
	const files = `channel_credentials_plugin { [` + prefix + `tls.v3.TlsCredentials] { root_certificate_provider { instance_name: "files" } identity_certificate_provider { instance_name: "files" } } } `
	const unknown = `channel_credentials_plugin { [type.googleapis.com/envoy.config.core.v3.Address] {} } `
	for name, plugins := range map[string]string{
		"insecure": unknown + plain, "Google's": `channel_credentials_plugin { [` + prefix + `google_default.v3.GoogleDefaultCredentials] {} } `,
		"TLS": files + token, "xDS": `channel_credentials_plugin { [` + prefix + `xds.v3.XdsCredentials] { fallback_credentials { [` + prefix + `insecure.v3.InsecureCredentials] {} } } } `,
	} {
		s, err := parse(t, `google_grpc { target_uri: "dns:///b" `+plugins+`}`, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		bundle, calls, done, err := s.credentials.Credentials()
		if err != nil || bundle.TransportCredentials() == nil || (name == "TLS") != (len(calls) == 1) {
			t.Errorf("%s: %v, %v, %v", name, bundle, calls, err)
			continue
		}
		if b, err := bundle.NewWithMode(""); name != "Google's" && (err != nil || b.TransportCredentials() == nil) {
			t.Errorf("%s: %v, %v", name, b, err)
		}
		for _, c := range calls {
			if md, err := c.GetRequestMetadata(t.Context()); err != nil || md["authorization"] != "Bearer t" || !c.RequireTransportSecurity() {
				t.Errorf("%v, %v", md, err)
			}
		}
		done()
	}
	for plugins, want := range map[string]string{
		``:      "channel_credentials_plugin: no credentials",
		unknown: "channel_credentials_plugin: no credentials",
		`channel_credentials_plugin { [` + prefix + `tls.v3.TlsCredentials] {} }`:                                                   "channel_credentials_plugin[0]: root_certificate_provider: missing",
		`channel_credentials_plugin { [` + prefix + `tls.v3.TlsCredentials] { root_certificate_provider { instance_name: "x" } } }`: "channel_credentials_plugin[0]: root_certificate_provider: instance_name",
		`channel_credentials_plugin { [` + prefix + `xds.v3.XdsCredentials] {} }`:                                                   "channel_credentials_plugin[0]: fallback_credentials",
		plain + strings.Replace(token, `token: "t"`, ``, 1):                                                                         "call_credentials_plugin[0]: token",
	} {
		if s, err := parse(t, `google_grpc { target_uri: "dns:///b" `+plugins+`}`, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", plugins, s, err, want)
		}
	}
}

// TestChannels: services that are the same share a channel, which is closed with its last use.
func TestChannels(t *testing.T) {
	var c Channels
	a, err := parse(t, allowed, untrusted(t))
	if err != nil {
		t.Fatal(err)
	}
	b, err := parse(t, allowed+`timeout { seconds: 1 }`, untrusted(t))
	if err != nil {
		t.Fatal(err)
	}
	other, err := parse(t, `google_grpc { target_uri: "dns:///a" `+plain+`}`, trusted(t))
	if err != nil {
		t.Fatal(err)
	}
	var leases []*Lease
	for _, s := range []*Service{a, b, other} {
		l, err := c.Open(s)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	if leases[0].ClientConn != leases[1].ClientConn || leases[0].ClientConn == leases[2].ClientConn {
		t.Error("shared wrongly")
	}
	for i, l := range leases {
		if c.byKey.Len() != 2-i/2 {
			t.Errorf("%d channels after %d", c.byKey.Len(), i)
		}
		l.Close()
		l.Close()
	}
	if c.byKey.Len() != 0 {
		t.Errorf("%d channels are left", c.byKey.Len())
	}
	if err := leases[2].Invoke(context.Background(), "/a/b", nil, nil); err == nil {
		t.Error("a closed channel is used")
	}
}

// TestNoMaterial: a provider that returns neither certificates nor an error makes the handshake fail, and nothing worse.
func TestNoMaterial(t *testing.T) {
	roots, empty := certprovider.NewDistributor(), certprovider.NewDistributor()
	roots.Set(&certprovider.KeyMaterial{Roots: x509.NewCertPool()}, nil)
	empty.Set(nil, nil)
	for name, p := range map[string]*provided{
		"no roots": {roots: closing{empty}}, "no identity": {roots: closing{roots}, identity: closing{empty}},
	} {
		if _, _, err := p.ClientHandshake(t.Context(), "a", nil); err == nil || !strings.Contains(err.Error(), "the certificate provider has ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// closing is a certificate provider.
type closing struct{ *certprovider.Distributor }

func (c closing) Close() { c.Stop() }
