// SPDX-License-Identifier: Apache-2.0

package rbacxds_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	udpapb "github.com/cncf/xds/go/udpa/type/v1"
	xdspb "github.com/cncf/xds/go/xds/type/v3"
	rbacpb "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	streampb "github.com/envoyproxy/go-control-plane/envoy/extensions/rbac/audit_loggers/stream/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/rbac"
	"google.golang.org/grpc/internal/rbac/rbacxds"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// message reads the JSON form of a message.
func message(t *testing.T, text string) *rbacpb.RBAC {
	t.Helper()
	m := new(rbacpb.RBAC)
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// call is /a.B/C from 10.0.0.1 to [::1]:443, with TLS and a client called d.test.
func call(t *testing.T) *rbac.Request {
	t.Helper()
	ctx := metadata.NewIncomingContext(t.Context(), metadata.MD{
		":authority": {"Host.test"}, "n": {"5"}, "two": {"a", "b"}, "x-bin": {"\x00\x01"},
	})
	ctx = peer.NewContext(ctx, &peer.Peer{
		Addr:      net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.1:5")),
		LocalAddr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort("[::1]:443")),
		AuthInfo: credentials.TLSInfo{State: tls.ConnectionState{
			PeerCertificates: []*x509.Certificate{{DNSNames: []string{"d.test"}}},
		}},
	})
	r, err := rbac.NewRequest(ctx, "/a.B/C")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPermissionsAndPrincipals(t *testing.T) {
	for _, tt := range []struct {
		rule string // both a permission and a principal, or, as it begins with a word, one of them
		want bool
	}{
		{`{"any":true}`, true},
		{`{"header":{"name":"N","stringMatch":{"exact":"5"}}}`, true},
		{`{"header":{"name":"n","exactMatch":"6"}}`, false},
		{`{"header":{"name":"n","exactMatch":"6","invertMatch":true}}`, true},
		{`{"header":{"name":"absent","exactMatch":"6","invertMatch":true}}`, false},
		{`{"header":{"name":"n","rangeMatch":{"start":"5","end":"6"}}}`, true},
		{`{"header":{"name":"n","rangeMatch":{"start":"4","end":"5"}}}`, false},
		{`{"header":{"name":"n","presentMatch":true}}`, true},
		{`{"header":{"name":"n","presentMatch":false}}`, false},
		{`{"header":{"name":"n"}}`, true},
		{`{"header":{"name":"absent"}}`, false},
		{`{"header":{"name":"absent","stringMatch":{"exact":"6"},"invertMatch":true,"treatMissingHeaderAsEmpty":true}}`, true},
		{`{"header":{"name":"absent","stringMatch":{"exact":""},"treatMissingHeaderAsEmpty":true}}`, true},
		{`{"header":{"name":"n","stringMatch":{"exact":""},"treatMissingHeaderAsEmpty":true}}`, false},
		{`{"header":{"name":"absent","rangeMatch":{"start":"0","end":"6"},"treatMissingHeaderAsEmpty":true}}`, false},
		{`{"header":{"name":"two","prefixMatch":"a,"}}`, true},
		{`{"header":{"name":"two","suffixMatch":"a"}}`, false},
		{`{"header":{"name":"two","containsMatch":","}}`, true},
		{`{"header":{"name":"two","safeRegexMatch":{"regex":"a.b"}}}`, true},
		{`{"header":{"name":"two","safeRegexMatch":{"regex":"a."}}}`, false},
		{`{"header":{"name":":authority","stringMatch":{"exact":"host.TEST","ignoreCase":true}}}`, true},
		{`{"header":{"name":"host","stringMatch":{"exact":"Host.test"}}}`, true},
		{`{"header":{"name":":method","stringMatch":{"exact":"POST"}}}`, true},
		{`{"header":{"name":":path","stringMatch":{"exact":"/a.B/C"}}}`, true},
		{`{"header":{"name":"x-bin","stringMatch":{"exact":"AAE"}}}`, true},
		{`{"urlPath":{"path":{"prefix":"/a.B/"}}}`, true},
		{`{"urlPath":{"path":{"suffix":"/D"}}}`, false},
		{`{"urlPath":{"path":{"contains":".b/","ignoreCase":true}}}`, true},
		{`{"urlPath":{"path":{"safeRegex":{"regex":"/[a-z]\\.B/."}}}}`, true},
		{`{"metadata":{"filter":"f","path":[{"key":"k"}],"value":{"nullMatch":{}}}}`, false},
		{`{"metadata":{"filter":"f","path":[{"key":"k"}],"value":{"nullMatch":{}},"invert":true}}`, true},

		{`permission {"andRules":{"rules":[{"any":true},{"urlPath":{"path":{"exact":"/x"}}}]}}`, false},
		{`permission {"orRules":{"rules":[{"any":true},{"urlPath":{"path":{"exact":"/x"}}}]}}`, true},
		{`permission {"notRule":{"urlPath":{"path":{"exact":"/x"}}}}`, true},
		{`permission {"destinationIp":{"addressPrefix":"::","prefixLen":8}}`, true},
		{`permission {"destinationIp":{"addressPrefix":"10.0.0.1"}}`, false},
		{`permission {"destinationPort":443}`, true},
		{`permission {"destinationPort":442}`, false},
		{`permission {"destinationPortRange":{"start":443,"end":444}}`, true},
		{`permission {"destinationPortRange":{"start":442,"end":443}}`, false},
		{`permission {"requestedServerName":{"exact":""}}`, true},
		{`permission {"requestedServerName":{"exact":"d.test"}}`, false},
		{`permission {"notRule":{"requestedServerName":{"exact":"d.test"}}}`, true},

		{`principal {"andIds":{"ids":[{"any":true},{"urlPath":{"path":{"exact":"/x"}}}]}}`, false},
		{`principal {"orIds":{"ids":[{"any":true},{"urlPath":{"path":{"exact":"/x"}}}]}}`, true},
		{`principal {"notId":{"urlPath":{"path":{"exact":"/x"}}}}`, true},
		{`principal {"authenticated":{}}`, true},
		{`principal {"authenticated":{"principalName":{"exact":"d.test"}}}`, true},
		{`principal {"authenticated":{"principalName":{"exact":""}}}`, false},
		{`principal {"sourceIp":{"addressPrefix":"10.0.0.0","prefixLen":24}}`, true},
		{`principal {"directRemoteIp":{"addressPrefix":"10.0.0.1","prefixLen":32}}`, true},
		{`principal {"remoteIp":{"addressPrefix":"10.0.0.2","prefixLen":32}}`, false},
		{`principal {"remoteIp":{"addressPrefix":"10.0.0.2"}}`, true}, // no bits at all
		{`principal {"remoteIp":{"addressPrefix":"::ffff:10.0.0.0","prefixLen":104}}`, true},
		{`principal {"remoteIp":{"addressPrefix":"::ffff:11.0.0.0","prefixLen":104}}`, false},
		{`principal {"remoteIp":{"addressPrefix":"::ffff:0.0.0.0","prefixLen":95}}`, false}, // IPv6
	} {
		policies := map[string]string{
			"permission": `{"permissions":[RULE],"principals":[{"any":true}]}`,
			"principal":  `{"permissions":[{"any":true}],"principals":[RULE]}`,
		}
		rule := tt.rule
		if word, rest, ok := strings.Cut(tt.rule, " "); ok {
			policies, rule = map[string]string{word: policies[word]}, rest
		}
		for side, policy := range policies {
			m := message(t, `{"policies":{"p":`+strings.Replace(policy, "RULE", rule, 1)+`}}`)
			p, err := rbacxds.Parse(m)
			if err != nil {
				t.Errorf("%s: %v", tt.rule, err)
				continue
			}
			if got := p.Engine("f").Authorize(call(t)); got != tt.want {
				t.Errorf("%s as %s: %t, want %t", tt.rule, side, got, tt.want)
			}
		}
	}
}

func TestErrorsNameTheField(t *testing.T) {
	permission := func(s string) string {
		return `{"policies":{"p":{"permissions":[{"any":true},` + s + `],"principals":[{"any":true}]}}}`
	}
	principal := func(s string) string {
		return `{"policies":{"p":{"permissions":[{"any":true}],"principals":[` + s + `]}}}`
	}
	for _, tt := range []struct{ message, err string }{
		{`{"action":7}`, "action: 7"},
		{`{"policies":{"p":{}}}`, `policies["p"].permissions: is empty`},
		{principal(``), `policies["p"].principals: is empty`},
		{`{"policies":{"p":{"permissions":[{"any":true}],"principals":[{"any":true}],"condition":{}}}}`, `policies["p"].condition: `},
		{`{"policies":{"p":{"permissions":[{"any":true}],"principals":[{"any":true}],"checkedCondition":{}}}}`, `policies["p"].condition: `},
		{permission(`{}`), `policies["p"].permissions[1].rule: `},
		{permission(`{"any":false}`), `permissions[1].any: `},
		{permission(`{"andRules":{"rules":[{"any":true},{}]}}`), `permissions[1].and_rules.rules[1].rule: `},
		{permission(`{"andRules":{}}`), `permissions[1].and_rules.rules: is empty`},
		{permission(`{"orRules":{}}`), `permissions[1].or_rules.rules: is empty`},
		{permission(`{"notRule":{}}`), `permissions[1].not_rule.rule: `},
		{permission(`{"header":{"name":"grpc-x","presentMatch":true}}`), `permissions[1].header "grpc-x": `},
		{permission(`{"header":{"name":":Scheme","presentMatch":true}}`), `permissions[1].header ":Scheme": `},
		{permission(`{"header":{"presentMatch":true}}`), `permissions[1].header "": `},
		{permission(`{"header":{"name":"n","safeRegexMatch":{"regex":"("}}}`), `permissions[1].header "n": `},
		{permission(`{"header":{"name":"n","prefixMatch":""}}`), `permissions[1].header "n": prefix is empty`},
		{permission(`{"urlPath":{"path":{}}}`), `permissions[1].url_path.path: `},
		{permission(`{"destinationIp":{"addressPrefix":"x"}}`), `permissions[1].destination_ip: `},
		{permission(`{"destinationIp":{"addressPrefix":"10.0.0.1","prefixLen":33}}`), `permissions[1].destination_ip: `},
		{permission(`{"matcher":{"name":"m"}}`), `permissions[1].rule: `},
		{principal(`{}`), `principals[0].identifier: `},
		{principal(`{"notId":{"remoteIp":{}}}`), `principals[0].not_id.remote_ip: `},
		{principal(`{"authenticated":{"principalName":{}}}`), `principals[0].authenticated.principal_name: `},
		{principal(`{"filterState":{"key":"k"}}`), `principals[0].identifier: `},
		{`{"auditLoggingOptions":{"auditCondition":9}}`, `audit_logging_options.audit_condition: `},
		{`{"auditLoggingOptions":{"loggerConfigs":[{}]}}`, `audit_logging_options.logger_configs[0]: `},
	} {
		p, err := rbacxds.Parse(message(t, tt.message))
		if p != nil || err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, error %v, want %q", tt.message, p, err, tt.err)
		}
	}
}

func TestActionLogIsNoPolicy(t *testing.T) {
	p, err := rbacxds.Parse(message(t, `{"action":"LOG","policies":{"p":{}}}`))
	if err != nil || p.Engine("f") != nil {
		t.Errorf("%v, %v; want no engine", p, err)
	}
}

// keeper is a logger, its builder, and what they were told.
type keeper struct {
	config string
	events []audit.Event
}

func (k *keeper) Name() string { return "keeper" }

func (k *keeper) ParseLoggerConfig(c json.RawMessage) (audit.LoggerConfig, error) {
	k.config = string(c)
	return nil, nil
}

func (k *keeper) Build(audit.LoggerConfig) audit.Logger { return k }

func (k *keeper) Log(e *audit.Event) { k.events = append(k.events, *e) }

// The first policy by name is the one audited; loggers are found by the type of their
// configuration.
func TestAudit(t *testing.T) {
	fields, err := structpb.NewStruct(map[string]any{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	typed := func(m proto.Message) *anypb.Any {
		a, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, tt := range []struct {
		name   string
		config *anypb.Any
		action string
		want   string // the keeper's configuration
		err    string
	}{
		{"xds", typed(&xdspb.TypedStruct{TypeUrl: "x.test/keeper", Value: fields}), "DENY", `{"a":"b"}`, ""},
		{"udpa", typed(&udpapb.TypedStruct{TypeUrl: "keeper"}), "ALLOW", `{}`, ""},
		{"stdout", typed(&streampb.StdoutAuditLog{}), "ALLOW", "", ""},
		{"unknown", typed(&xdspb.TypedStruct{TypeUrl: "x.test/nobody"}), "ALLOW", "", "no builder registered for nobody"},
		{"another message", typed(fields), "ALLOW", "", "no builder registered for type.googleapis.com/google.protobuf.Struct"},
		{"broken", &anypb.Any{TypeUrl: "x/xds.type.v3.TypedStruct", Value: []byte{1}}, "ALLOW", "", "logger_configs[0]: "},
	} {
		k := &keeper{}
		audit.RegisterLoggerBuilder(k)
		m := message(t, `{"action":"`+tt.action+`","policies":{
			"z":{"permissions":[{"any":true}],"principals":[{"any":true}]},
			"b":{"permissions":[{"any":true}],"principals":[{"any":true}]}},
			"auditLoggingOptions":{"auditCondition":"ON_DENY_AND_ALLOW","loggerConfigs":[{"auditLogger":{"name":"n"}}]}}`)
		m.AuditLoggingOptions.LoggerConfigs[0].AuditLogger.TypedConfig = tt.config
		p, err := rbacxds.Parse(m)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
			}
			m.AuditLoggingOptions.LoggerConfigs[0].IsOptional = true
			if _, err := rbacxds.Parse(m); (err == nil) != strings.Contains(tt.err, "no builder") {
				t.Errorf("%s, optional: %v", tt.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if tt.want == "" {
			continue // standard output stays clean
		}
		allowed := p.Engine("filter").Authorize(call(t))
		want := []audit.Event{{FullMethodName: "/a.B/C", PolicyName: "filter", MatchedRule: "b", Authorized: tt.action == "ALLOW"}}
		if allowed != want[0].Authorized || k.config != tt.want || !reflect.DeepEqual(k.events, want) {
			t.Errorf("%s: allowed %t, config %s, events %v", tt.name, allowed, k.config, k.events)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"policies":{"p":{"permissions":[{"header":{"name":"n","rangeMatch":{"start":"5","end":"6"}}}],"principals":[{"remoteIp":{"addressPrefix":"::1","prefixLen":8}}]}}}`,
		`{"action":"DENY","policies":{"p":{"permissions":[{"notRule":{"urlPath":{"path":{"safeRegex":{"regex":"a+"}}}}}],"principals":[{"any":true}]}}}`,
	} {
		m := new(rbacpb.RBAC)
		if err := protojson.Unmarshal([]byte(text), m); err != nil {
			f.Fatal(err)
		}
		wire, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		m := new(rbacpb.RBAC)
		if proto.Unmarshal(wire, m) != nil {
			return
		}
		p, err := rbacxds.Parse(m)
		if err != nil {
			return
		}
		if e := p.Engine("f"); e != nil {
			e.Authorize(call(t))
		}
	})
}
