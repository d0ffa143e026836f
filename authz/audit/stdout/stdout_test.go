// SPDX-License-Identifier: Apache-2.0

package stdout

import (
	"bytes"
	"encoding/json"
	"log"
	"testing"
	"time"

	"google.golang.org/grpc/authz/audit"
)

func TestLog(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 8, time.FixedZone("", 3600))
	var out bytes.Buffer
	l := &logger{out: log.New(&out, "", 0), now: func() time.Time { return at }}
	l.Log(&audit.Event{
		FullMethodName: "/pkg.Service/Method",
		Principal:      "spiffe://a/b",
		PolicyName:     "policy",
		MatchedRule:    "policy_rule",
		Authorized:     true,
	})
	l.Log(&audit.Event{})
	want := `{"grpc_audit_log":{"rpc_method":"/pkg.Service/Method","principal":"spiffe://a/b","policy_name":"policy",` +
		`"matched_rule":"policy_rule","authorized":true,"timestamp":"2026-03-04T04:06:07.000000008Z"}}` + "\n" +
		`{"grpc_audit_log":{"rpc_method":"","principal":"","policy_name":"","matched_rule":"","authorized":false,` +
		`"timestamp":"2026-03-04T04:06:07.000000008Z"}}` + "\n"
	if out.String() != want {
		t.Errorf("lines:\n%swant:\n%s", out.String(), want)
	}
}

func TestBuilder(t *testing.T) {
	b := audit.GetLoggerBuilder(Name)
	if b == nil || b.Name() != Name {
		t.Fatalf("GetLoggerBuilder(%q) = %v", Name, b)
	}
	for _, config := range []string{"", "{}", `{"a":1}`, "not JSON"} {
		c, err := b.ParseLoggerConfig(json.RawMessage(config))
		if c == nil || err != nil {
			t.Errorf("ParseLoggerConfig(%q) = %v, %v", config, c, err)
		}
		if b.Build(c) == nil {
			t.Errorf("no logger for %q", config)
		}
	}
}
