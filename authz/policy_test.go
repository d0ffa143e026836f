// SPDX-License-Identifier: Apache-2.0

package authz_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/authz"
	_ "google.golang.org/grpc/authz/audit/stdout"
)

func TestPolicies(t *testing.T) {
	rule := func(fields string) string {
		return `{"name":"a","allow_rules":[{"name":"r"},{"name":"s",` + fields + `}]}`
	}
	head := func(fields string) string { return rule(`"request":{"headers":[{` + fields + `}]}`) }
	options := func(fields string) string {
		return `{"name":"a","allow_rules":[{"name":"r"}],"audit_logging_options":{` + fields + `}}`
	}
	for _, tt := range []struct{ policy, err string }{
		{``, "failed to unmarshal policy: EOF"},
		{`{`, "failed to unmarshal policy: unexpected EOF"},
		{`[]`, "failed to unmarshal policy: json: cannot unmarshal array"},
		{`{}`, `"name" is not present`},
		{`{"name":1}`, "failed to unmarshal policy: json: cannot unmarshal number"},
		{`{"name":"a"}`, `"allow_rules" is not present`},
		{`{"name":"a","allow_rules":[]}`, `"allow_rules" is not present`},
		{`{"name":"a","more":"b"}`, `failed to unmarshal policy: json: unknown field "more"`},
		{`{"name":"a","allow_rules":[{}]}`, `"allow_rules" 0: "name" is not present`},
		{`{"name":"a","allow_rules":[{"name":"r"}],"deny_rules":[{}]}`, `"deny_rules" 0: "name" is not present`},
		{`{"NAME":"a","ALLOW_RULES":[{"name":"r"}]}`, ""},
		{rule(`"source":{"more":[]}`), `unknown field "more"`},
		{`{"name":"a","allow_rules":[{"name":"r"}]}{"name":"b","deny_rules":[{"name":"s"}]}`, "there is text behind the policy, at byte 42"},
		{`{"name":"a","allow_rules":[{"name":"r"}]} more`, "there is text behind the policy"},
		{"{\"name\":\"a\",\"allow_rules\":[{\"name\":\"r\"}]}\n", ""},
		{`{"name":"a","deny_rules":[{"name":"r"}],"deny_rules":[],"allow_rules":[{"name":"r"}]}`, `field "deny_rules" is there twice`},
		{`{"name":"a","deny_rules":[{"name":"r"}],"DENY_rules":[],"allow_rules":[{"name":"r"}]}`, `field "DENY_rules" is there twice`},
		{`{"name":"a","deny_rules":[{"name":"r"}],"deny_ruleſ":[],"allow_rules":[{"name":"r"}]}`, "is there twice"},
		{rule(`"source":{"principals":["a"],"principals":[]}`), `field "principals" is there twice`},
		{rule(`"source":{"principals":["*","a*","*a","a*b","**","*a*",""]}`), ""},
		{head(``), `"allow_rules" 1: "headers" 0: "key" is not present`},
		{head(`"key":"k"`), `"allow_rules" 1: "headers" 0: "values" is not present`},
		{head(`"key":"k","values":["a"],"x":1`), `unknown field "x"`},
		{head(`"key":"K","values":["a"]`), ""},
		{options(``), ""},
		{options(`"audit_condition":"on_deny"`), "failed to parse AuditCondition on_deny. Allowed values {NONE, ON_DENY, ON_ALLOW, ON_DENY_AND_ALLOW}"},
		{options(`"audit_condition":"ON_DENY"`), ""},
		{options(`"audit_loggers":[{}]`), "missing required field: name in audit_logging_options.audit_loggers[0]"},
		{options(`"audit_loggers":[{"name":"nobody"}]`), "no builder registered for nobody"},
		{options(`"audit_loggers":[{"name":"nobody","is_optional":true}]`), ""},
		{options(`"audit_loggers":[{"name":"stdout_logger"}]`), ""},
		{options(`"audit_loggers":[{"name":"stdout_logger","config":1}]`), "failed to unmarshal policy: "},
		{options(`"audit_loggers":[{"name":"stdout_logger","config":null}]`), ""},
		{options(`"audit_loggers":[{"name":"nobody","is_optional":true,"config":{"a":[1,{"b":2}],"A":{}}}]`), ""},
	} {
		_, err := authz.NewStatic(tt.policy)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: error %v, want %q", tt.policy, err, tt.err)
		}
	}
}

// A policy can't ask for what belongs to HTTP, to gRPC, or to one hop (gRFC A43).
func TestUnsupportedHeaders(t *testing.T) {
	for _, key := range []string{
		":method", ":path", "host", "Host", "grpc-timeout", "GRPC-x", "connection", "keep-alive",
		"proxy-authenticate", "proxy-authorization", "TE", "trailer", "transfer-encoding", "upgrade",
	} {
		_, err := authz.NewStatic(fmt.Sprintf(
			`{"name":"a","allow_rules":[{"name":"r"}],"deny_rules":[{"name":"d","request":{"headers":[{"key":%q,"values":["a"]}]}}]}`, key))
		want := `"deny_rules" 0: "headers" 0: unsupported "key" ` + strings.ToLower(key)
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func FuzzNewStatic(f *testing.F) {
	f.Add(`{"name":"a","deny_rules":[{"name":"d","source":{"principals":["*"]}}],"allow_rules":[{"name":"r","request":{"paths":["/a*"],"headers":[{"key":"k","values":["*b"]}]}}],"audit_logging_options":{"audit_condition":"ON_DENY","audit_loggers":[{"name":"x","config":{"a":[1,{}]},"is_optional":true}]}}`)
	f.Fuzz(func(t *testing.T, policy string) {
		if i, err := authz.NewStatic(policy); (i == nil) == (err == nil) {
			t.Errorf("interceptor %v, error %v", i, err)
		}
	})
}
