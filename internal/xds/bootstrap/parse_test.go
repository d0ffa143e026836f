// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/xds/bootstrap"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// custom is a kind of credentials that a program brings.
type custom struct{}

func (custom) Name() string { return "custom" }

func (custom) Build(config json.RawMessage) (credentials.Bundle, func(), error) {
	if string(config) == `"bad"` {
		return nil, nil, errors.New("no good")
	}
	return insecure.NewBundle(), nil, nil
}

func init() { bootstrap.RegisterChannelCredentials(custom{}) }

const plain = `{"server_uri":"a:1","channel_creds":[{"type":"insecure"}]}`

// with returns a bootstrap of one server and more fields.
func with(fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"xds_servers":[` + plain + `]` + fields + `}`
}

func servers(list string) string { return `{"xds_servers":[` + list + `]}` }

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{``, "unexpected end"},
		{`[]`, "cannot unmarshal array"},
		{`null`, "xds_servers is missing"},
		{`{}`, "xds_servers is missing"},
		{`{"xds_servers":[]}`, "xds_servers is missing"},
		{`{"authorities":{"a":{"xds_servers":[` + plain + `]}}}`, "xds_servers is missing"},
		{with(`"x":1`) + " trailing", "invalid character"},
		{servers(`{}`), "xds_servers[0]: field server_uri"},
		{servers(plain + `,{"server_uri":"b"}`), `xds_servers[1]: field channel_creds of server "b"`},
		{servers(`{"server_uri":"a","channel_creds":[{"type":"nope"}]}`), "channel_creds"},
		{servers(`{"server_uri":"a","channel_creds":[{"type":"nope"},{"type":"custom","config":"bad"}]}`), `server "a": channel credentials "custom": no good`},
		{servers(`{"server_uri":"a","channel_creds":[{"type":"tls","config":{"certificate_file":"/x"}}]}`), "tls"},
		{servers(`{"server_uri":"a","channel_creds":[{"type":"insecure"}],"server_features":[1]}`), "server_features"},
		{servers(`{"server_uri":"a","channel_creds":[{"type":"insecure"}],"server_features":"x"}`), "server_features"},
		{servers(`{"server_uri":"a","channel_creds":[{"type":"insecure"}],"call_creds":[{"type":"jwt_token_file"}]}`), `call credentials "jwt_token_file"`},
		{with(`"node":[]`), "field node"},
		{with(`"node":{"id":1}`), "field node"},
		{with(`"certificate_providers":[]`), "certificate_providers"},
		{with(`"certificate_providers":{"a":{"plugin_name":"file_watcher","config":{}}}`), `certificate_providers["a"]`},
		{with(`"authorities":{"a":{"client_listener_resource_name_template":"foo/%s"}}`), `authorities["a"]: client_listener`},
		{with(`"authorities":{"a":{"client_listener_resource_name_template":"xdstp://ab/%s"}}`), `authorities["a"]: client_listener`},
		{with(`"authorities":{"a":{"xds_servers":[{}]}}`), `authorities["a"]: xds_servers[0]`},
		{with(`"client_default_listener_resource_name_template":5`), "client_default"},
	} {
		_, err := Parse([]byte(tt.text), Options{CallCreds: true})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n\t%v; want something with %q", tt.text, err, tt.want)
		}
	}
}

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse([]byte(text), Options{CallCreds: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestA27(t *testing.T) {
	c := mustParse(t, with(`"node":{"id":"x","metadata":{"a":1},"bogus":2,"user_agent_name":"me"},"more":{}`))
	n := c.Node()
	if n.Id != "x" || n.UserAgentName != "gRPC Go" || n.Metadata.Fields["a"].GetNumberValue() != 1 || len(n.ClientFeatures) != 2 {
		t.Errorf("node %v", n)
	}
	n.Id = "changed"
	if c.NodeID() != "x" || c.NodeLabel() != "[xDS node id: x]" {
		t.Error("the node is not a copy")
	}
	if len(c.Servers) != 1 || c.Servers[0].URI != "a:1" {
		t.Errorf("servers %v", c.Servers)
	}
	// The first known kind of credentials counts.
	c = mustParse(t, servers(`{"server_uri":"a","channel_creds":[{"type":"?"},{"type":"custom","config":{"a":1}},{"type":"custom","config":"bad"}]}`))
	if got := c.Servers[0].String(); got != "a (custom)" {
		t.Error(got)
	}
}

func TestA27Sources(t *testing.T) {
	if _, err := Read(Options{}); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "bootstrap.json")
	if _, err := Read(Options{File: path, Text: with("")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file comes first; got %v", err)
	}
	if err := os.WriteFile(path, []byte(with(`"node":{"id":"file"}`)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Read(Options{File: path, Text: with(`"node":{"id":"text"}`)})
	if err != nil || c.NodeID() != "file" {
		t.Errorf("%v, %v", c, err)
	}
	c, err = Read(Options{Text: with(`"node":{"id":"text"}`)})
	if err != nil || c.NodeID() != "text" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestA29CertificateProviders(t *testing.T) {
	c := mustParse(t, with(`"certificate_providers":{"other":{"plugin_name":"unknown"},"files":{"plugin_name":"file_watcher","config":{"ca_certificate_file":"/x"}}}`))
	if !c.KnowsCertProvider("files") || c.KnowsCertProvider("other") || c.KnowsCertProvider("third") {
		t.Errorf("%v", c.CertProviders)
	}
}

func TestServerFeatures(t *testing.T) { // A53, A81, A88
	c := mustParse(t, servers(`{"server_uri":"a","channel_creds":[{"type":"insecure"}],"server_features":["xds_v3","trusted_xds_server","ignore_resource_deletion","fail_on_data_errors","resource_timer_is_transient_error"]}`))
	if got := c.Servers[0].Features; got != (Features{true, true, true, true}) {
		t.Errorf("%+v", got)
	}
	if got := mustParse(t, with("")).Servers[0].Features; got != (Features{}) {
		t.Errorf("%+v", got)
	}
}

func TestA47ServersAreOne(t *testing.T) {
	c := mustParse(t, with(`"authorities":{
		"same":{"xds_servers":[{"server_uri":"a:1","channel_creds":[{"type":"?"},{"type":"insecure"}],"server_features":["unknown"]}]},
		"feature":{"xds_servers":[{"server_uri":"a:1","channel_creds":[{"type":"insecure"}],"server_features":["trusted_xds_server"]}]},
		"creds":{"xds_servers":[{"server_uri":"a:1","channel_creds":[{"type":"custom"}]}]},
		"default":{"xds_servers":[]}}`))
	if got := len(c.AllServers()); got != 3 {
		t.Errorf("%d servers", got)
	}
	if c.AuthorityServers("same")[0].Key() != c.Servers[0].Key() {
		t.Error("the same server is two")
	}
	if c.AuthorityServers("default")[0] != c.Servers[0] || c.AuthorityServers("none") != nil {
		t.Error("the wrong servers")
	}
	again, err := parseServer([]byte(c.AuthorityServers("feature")[0].Key()), false)
	if err != nil || again.Key() != c.AuthorityServers("feature")[0].Key() {
		t.Errorf("%v, %v", again, err)
	}
}

func TestA65(t *testing.T) {
	for _, config := range []string{``, `,"config":{}`, `,"config":{"ca_certificate_file":"/x","refresh_interval":"10s"}`} {
		c := mustParse(t, servers(`{"server_uri":"a","channel_creds":[{"type":"tls"`+config+`}]}`))
		bundle, calls, done, err := c.Servers[0].Credentials()
		if err != nil || len(calls) != 0 || bundle.TransportCredentials().Info().SecurityProtocol != "tls" {
			t.Errorf("%s: %v", config, err)
		}
		done()
	}
}

func TestA97(t *testing.T) {
	text := servers(`{"server_uri":"a","channel_creds":[{"type":"insecure"}],"call_creds":[{"type":"?"},{"type":"jwt_token_file","config":{"jwt_token_file":"/x"}}]}`)
	_, calls, done, err := mustParse(t, text).Servers[0].Credentials()
	if err != nil || len(calls) != 1 {
		t.Fatalf("%v, %v", calls, err)
	}
	done()
	off, err := Parse([]byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, calls, done, err = off.Servers[0].Credentials()
	if err != nil || len(calls) != 0 {
		t.Errorf("switched off: %v, %v", calls, err)
	}
	done()
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(with(`"node":{"id":"x"},"authorities":{"a":{"client_listener_resource_name_template":"xdstp://a/x/%s"}}`)))
	f.Add([]byte(servers(`{"server_uri":"a","channel_creds":[{"type":"tls","config":{"ca_certificate_file":"/x"}}]}`)))
	f.Add([]byte(with(`"node":{"id":"x"},"allowed_grpc_services":{"dns:///a":{"channel_creds":[{"type":"insecure"}]}}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text, Options{CallCreds: true, Services: true})
		if err != nil {
			return
		}
		if len(c.Servers) == 0 || c.ClientTemplate == "" {
			t.Errorf("%v", c)
		}
		for key, s := range c.AllServers() {
			again, err := parseServer([]byte(key), true)
			if err != nil || again.Key() != s.Key() {
				t.Errorf("%s: %v, %v", key, again, err)
			}
		}
	})
}

// TestServersPrintNoPasswords is about messages: errors of RPCs name the control plane.
func TestServersPrintNoPasswords(t *testing.T) {
	for uri, want := range map[string]string{
		"dns://user:password@ns/x:1": "dns://ns/x:1",
		"dns://user@ns/x:1":          "dns://ns/x:1",
		"dns:///x@y:1":               "dns:///x@y:1",
		"host:1":                     "host:1",
		"unix:/a@b":                  "unix:/a@b",
	} {
		if got := plainURI(uri); got != want {
			t.Errorf("%s: %s", uri, got)
		}
	}
}
