// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"strings"
	"testing"
)

func TestA102Services(t *testing.T) {
	parse := func(services string, o Options) (*Config, error) {
		return Parse(fmt.Appendf(nil, `{"xds_servers":[{"server_uri":"x","channel_creds":[{"type":"insecure"}]}],"allowed_grpc_services":%s}`, services), o)
	}
	const insecure = `{"channel_creds":[{"type":"unknown"},{"type":"insecure"}],"call_creds":[{"type":"unknown"}]}`
	c, err := parse(`{"dns:///a":`+insecure+`,"dns:///b":`+insecure+`}`, Options{Services: true})
	if err != nil || len(c.Services) != 2 || c.Services["dns:///a"].Key() != c.Services["dns:///b"].Key() {
		t.Fatalf("%+v, %v", c, err)
	}
	bundle, calls, done, err := c.Services["dns:///a"].Credentials()
	if err != nil || bundle == nil || len(calls) != 0 {
		t.Errorf("%v, %v, %v", bundle, calls, err)
	}
	done()
	// Nobody looks at them unless something needs them.
	if c, err := parse(`{"dns:///a":{}}`, Options{}); err != nil || c.Services != nil {
		t.Errorf("%+v, %v", c, err)
	}
	for services, want := range map[string]string{
		`{"dns:///a":null}`: `allowed_grpc_services["dns:///a"]: no configuration`,
		`{"dns:///a":{}}`:   `allowed_grpc_services["dns:///a"]: field channel_creds`,
		`{"dns:///a":{"channel_creds":[{"type":"unknown"}]}}`:              `allowed_grpc_services["dns:///a"]: field channel_creds`,
		`{"dns:///a":{"channel_creds":[{"type":"tls","config":"wrong"}]}}`: `allowed_grpc_services["dns:///a"]: `,
		`[]`: "allowed_grpc_services",
	} {
		if c, err := parse(services, Options{Services: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", services, c, err, want)
		}
	}
}
