// SPDX-License-Identifier: Apache-2.0

package googledirectpath

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// schemes are resolvers that tell of what becomes of them.
type schemes struct {
	missing string // a scheme that nobody registered
	fail    error
	built   chan string // targets
	closed  chan string
}

func newSchemes() *schemes {
	return &schemes{built: make(chan string, 10), closed: make(chan string, 10)}
}

func (s *schemes) get(scheme string) resolver.Builder {
	if scheme == s.missing {
		return nil
	}
	return &fakeBuilder{s, scheme}
}

type fakeBuilder struct {
	*schemes
	scheme string
}

func (b *fakeBuilder) Scheme() string { return b.scheme }

func (b *fakeBuilder) Build(t resolver.Target, _ resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	if b.fail != nil {
		return nil, b.fail
	}
	b.built <- t.String()
	return &fakeResolver{b.schemes, t.String()}, nil
}

type fakeResolver struct {
	*schemes
	target string
}

func (*fakeResolver) ResolveNow(resolver.ResolveNowOptions) {}
func (r *fakeResolver) Close()                              { r.closed <- r.target }

// channel hears of errors.
type channel struct {
	resolver.ClientConn
	errs chan error
}

func (c *channel) ReportError(err error) { c.errs <- err }

// metadataServer answers after release is closed.
func metadataServer(t *testing.T, release <-chan struct{}, answers map[string]string) *metadata {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		body, ok := answers[r.URL.Path]
		if !ok || r.Header.Get("Metadata-Flavor") != "Google" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return newMetadata(func() string { return strings.TrimPrefix(s.URL, "http://") })
}

func now() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func target(t *testing.T, s string) resolver.Target {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return resolver.Target{URL: *u}
}

func TestRegistered(t *testing.T) {
	for _, s := range []string{"google-c2p", "google-c2p-experimental"} {
		if b := resolver.Get(s); b == nil || b.Scheme() != s {
			t.Errorf("%s: %v", s, b)
		}
	}
}

func TestElsewhere(t *testing.T) {
	s := newSchemes()
	b := &builder{scheme: scheme, platform: &platform{here: func() bool { return false }, resolvers: s.get}}
	r, err := b.Build(target(t, "google-c2p:///service.example.com"), nil, resolver.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-s.built; got != "dns:///service.example.com" {
		t.Errorf("built %q", got)
	}
	r.Close()
	if _, err := b.Build(target(t, "google-c2p://authority/service"), nil, resolver.BuildOptions{}); err == nil {
		t.Error("an authority is accepted")
	}
}

func TestOnGoogleCloud(t *testing.T) {
	release := make(chan struct{})
	s := newSchemes()
	p := &platform{
		here: func() bool { return true }, resolvers: s.get, pool: func() *xdsclient.Pool { return xdsclient.NewPool(xdsclient.Options{}) },
		metadata: metadataServer(t, release, map[string]string{
			"/computeMetadata/v1/instance/zone":                       "projects/1/zones/us-east1-b",
			"/computeMetadata/v1/instance/network-interfaces/0/ipv6s": "2001:db8::1",
		}),
	}
	b := &builder{scheme: scheme, platform: p}
	build := func() resolver.Resolver {
		t.Helper()
		r, err := b.Build(target(t, "google-c2p:///service"), &channel{errs: make(chan error, 1)}, resolver.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first, given := build(), build() // nothing waits for the metadata server
	given.ResolveNow(resolver.ResolveNowOptions{})
	given.Close()
	close(release)
	const want = "xds://traffic-director-c2p.xds.googleapis.com/service"
	if got := <-s.built; got != want {
		t.Errorf("built %q", got)
	}
	third := build() // at once
	if got := <-s.built; got != want {
		t.Errorf("built %q", got)
	}
	first.ResolveNow(resolver.ResolveNowOptions{})
	first.Close()
	third.Close()
	<-s.closed
	<-s.closed
	if len(s.built) > 0 {
		t.Error("a resolver was made for one that was closed")
	}
	if got := p.config.Node().GetLocality().GetZone(); got != "us-east1-b" {
		t.Errorf("zone %q", got)
	}
	if name, err := p.config.ClientListener(authority, "service"); err != nil || name != "xdstp://"+authority+"/envoy.config.listener.v3.Listener/service" {
		t.Errorf("%q, %v", name, err)
	}
}

func TestHandOverFails(t *testing.T) {
	broken := errors.New("broken")
	for _, s := range []*schemes{{missing: "xds"}, {fail: broken}} {
		p := &platform{
			here: func() bool { return true }, resolvers: s.get, pool: func() *xdsclient.Pool { return xdsclient.NewPool(xdsclient.Options{}) },
			metadata: metadataServer(t, now(), nil),
		}
		cc := &channel{errs: make(chan error, 1)}
		r, err := (&builder{scheme: scheme, platform: p}).Build(target(t, "google-c2p:///service"), cc, resolver.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-cc.errs; s.fail != nil && !errors.Is(err, broken) {
			t.Error(err)
		}
		r.Close()
	}
}

func TestBootstrap(t *testing.T) {
	for _, tt := range []struct {
		m         machine
		uri, want string
	}{
		{machine{zone: "z", ipv6: true}, "dns:///a", `{"id":"C2P-7","locality":{"zone":"z"},"metadata":{"TRAFFICDIRECTOR_DIRECTPATH_C2P_IPV6_CAPABLE":true}}`},
		{machine{}, "dns:///b", `{"id":"C2P-7","locality":{"zone":""}}`},
	} {
		text, err := bootstrapFor(tt.m, 7, tt.uri)
		if err != nil {
			t.Fatal(err)
		}
		servers := `[{"server_uri":"` + tt.uri + `","channel_creds":[{"type":"google_default"}],"server_features":["ignore_resource_deletion"]}]`
		want := `{"xds_servers":` + servers + `,"client_default_listener_resource_name_template":"%s",
			"authorities":{"traffic-director-c2p.xds.googleapis.com":{"xds_servers":` + servers + `}},"node":` + tt.want + `}`
		var a, b any
		if err := errors.Join(json.Unmarshal(text, &a), json.Unmarshal([]byte(want), &b)); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
}

func TestMachine(t *testing.T) {
	if got := metadataServer(t, now(), nil).machine(); got != (machine{}) {
		t.Errorf("%+v", got)
	}
	got := metadataServer(t, now(), map[string]string{"/computeMetadata/v1/instance/zone": "z\n"}).machine()
	if got != (machine{zone: "z"}) {
		t.Errorf("%+v", got)
	}
	if got := newMetadata(func() string { return "127.0.0.1:0" }).machine(); got != (machine{}) {
		t.Errorf("%+v", got)
	}
}

func TestSetUniverseDomain(t *testing.T) {
	defer func() { universe.domain = "" }()
	universe.domain = ""
	if err := SetUniverseDomain(""); err == nil {
		t.Error("an empty domain is accepted")
	}
	for range 2 {
		if err := SetUniverseDomain("example.org"); err != nil || currentUniverse() != "example.org" {
			t.Errorf("%v, %q", err, currentUniverse())
		}
	}
	if err := SetUniverseDomain("example.com"); err == nil || currentUniverse() != "example.org" {
		t.Errorf("%v, %q", err, currentUniverse())
	}
	universe.domain = ""
	if got := currentUniverse(); got != "googleapis.com" {
		t.Errorf("%q", got)
	}
	if err := SetUniverseDomain("example.org"); err == nil {
		t.Error("changed after it was used")
	}
}
