// SPDX-License-Identifier: Apache-2.0

package bootstrap

import "testing"

func TestA47ListenerNames(t *testing.T) {
	const authorities = `"authorities":{
		"xds.authority.com":{"client_listener_resource_name_template":"xdstp://xds.authority.com/envoy.config.listener.v3.Listener/grpc/client/%s?project_id=1234"},
		"xds.other.com":{}}`
	plain := mustParse(t, with(`"server_listener_resource_name_template":"grpc/server?xds.resource.listening_address=%s"`))
	fancy := mustParse(t, with(authorities+`,
		"client_default_listener_resource_name_template":"xdstp://xds.authority.com/envoy.config.listener.v3.Listener/grpc/client/%s?project_id=1234",
		"server_listener_resource_name_template":"xdstp://xds.authority.com/envoy.config.listener.v3.Listener/grpc/server/%s?project_id=1234"`))
	for _, tt := range []struct {
		config              *Config
		authority, endpoint string
		want                string
	}{
		{plain, "", "server.example.com", "server.example.com"},
		{plain, "", "a b/%s", "a b/%s"},
		{plain, "xds.authority.com", "server.example.com", ""},
		{fancy, "", "server.example.com", "xdstp://xds.authority.com/envoy.config.listener.v3.Listener/grpc/client/server.example.com?project_id=1234"},
		{fancy, "", "a b?/c:1", "xdstp://xds.authority.com/envoy.config.listener.v3.Listener/grpc/client/a%20b%3F/c:1?project_id=1234"},
		{fancy, "xds.authority.com", "server.example.com", "xdstp://xds.authority.com/envoy.config.listener.v3.Listener/grpc/client/server.example.com?project_id=1234"},
		{fancy, "xds.other.com", "server.other.com", "xdstp://xds.other.com/envoy.config.listener.v3.Listener/server.other.com"},
	} {
		got, err := tt.config.ClientListener(tt.authority, tt.endpoint)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%q %q: %q, %v; want %q", tt.authority, tt.endpoint, got, err, tt.want)
		}
	}
}

func TestA36ListenerNames(t *testing.T) {
	for template, want := range map[string]string{
		"":    "",
		"a/b": "a/b",
		"grpc/server?xds.resource.listening_address=%s": "grpc/server?xds.resource.listening_address=[::]:80",
		"%s/%s":             "[::]:80/[::]:80",
		"xdstp://a/b/%s?c=": "xdstp://a/b/%5B::%5D:80?c=",
	} {
		c := &Config{ServerTemplate: template}
		got, err := c.ServerListener("[::]:80")
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v; want %q", template, got, err, want)
		}
	}
}
