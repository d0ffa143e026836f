// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	_ "google.golang.org/grpc/balancer/leastrequest"
	_ "google.golang.org/grpc/balancer/randomsubsetting"
	_ "google.golang.org/grpc/balancer/ringhash"
	_ "google.golang.org/grpc/balancer/weightedroundrobin"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// raw serializes a message that is given in its text form.
func raw(t testing.TB, m proto.Message, text string) []byte {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// context has everything on, and certificate provider "cert".
func context(t testing.TB) *Context {
	t.Helper()
	b, err := bootstrap.Parse([]byte(`{"xds_servers":[{"server_uri":"a","channel_creds":[{"type":"insecure"}],"server_features":["trusted_xds_server"]}],
		"certificate_providers":{"cert":{"plugin_name":"file_watcher","config":{"ca_certificate_file":"/x"}}}}`), bootstrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &Context{Bootstrap: b, Server: b.Servers[0], Features: Features{
		Dualstack: true, EndpointHashKey: true, SystemRootCerts: true, HTTPConnect: true, SNI: true,
		AuthorityRewrite: true, ORCAToLRS: true, StatefulSession: true, GCPAuthn: true, PanicRecovery: true, Scaling: true,
	}}
}

// plain has everything off that is off without environment variables.
func plain(t testing.TB) *Context {
	c := context(t)
	c.Features = Features{Dualstack: true, EndpointHashKey: true, ORCAToLRS: true}
	return c
}

// bad is a resource that is rejected, and what the error says.
type bad struct{ text, want string }

func checkBad[V any](t *testing.T, m func() proto.Message, parse func(*Context, []byte) (V, error), list []bad) {
	t.Helper()
	for _, tt := range list {
		_, err := parse(context(t), raw(t, m(), tt.text))
		if err == nil {
			t.Errorf("%s\n\tis accepted", tt.text)
		} else if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n\t%v\n\twant something with %q", tt.text, err, tt.want)
		}
	}
}

func sameJSON(t *testing.T, got []byte, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Errorf("%s: %v", got, err)
		return
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) != string(y) {
		t.Errorf("got  %s\nwant %s", x, y)
	}
}

func TestFieldErrors(t *testing.T) {
	cause := errors.New("cause")
	err := at("a", atIndex("b", 3, at("c", cause)))
	if err.Error() != "a.b[3].c: cause" || !errors.Is(err, cause) {
		t.Error(err)
	}
	if at("a", nil) != nil || atIndex("a", 1, nil) != nil {
		t.Error("an error out of none")
	}
}
