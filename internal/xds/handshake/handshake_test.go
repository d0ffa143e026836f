// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

func bundle(t testing.TB, domain string, a *authority) *spiffebundle.Bundle {
	t.Helper()
	d, err := spiffeid.TrustDomainFromString(domain)
	if err != nil {
		t.Fatal(err)
	}
	b := spiffebundle.New(d)
	b.AddX509Authority(a.cert)
	return b
}

func TestA29Handshake(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	mine := names{dns: []string{"*.example.com"}, uri: []string{"spiffe://domain/server"}}
	providers := all(t, map[string]*instance{
		"server":   newInstance(&certprovider.KeyMaterial{Certs: []tls.Certificate{ca.leaf(mine)}}),
		"client":   newInstance(&certprovider.KeyMaterial{Certs: []tls.Certificate{ca.leaf(names{uri: []string{"spiffe://domain/client"}})}}),
		"stranger": newInstance(&certprovider.KeyMaterial{Certs: []tls.Certificate{other.leaf(mine)}}),
		"roots":    newInstance(&certprovider.KeyMaterial{Roots: ca.pool()}),
		"both":     newInstance(&certprovider.KeyMaterial{Certs: []tls.Certificate{ca.leaf(mine)}, Roots: ca.pool()}),
		"spiffe":   newInstance(&certprovider.KeyMaterial{SPIFFEBundleMap: map[string]*spiffebundle.Bundle{"domain": bundle(t, "domain", ca)}}),
		"elsewhere": newInstance(&certprovider.KeyMaterial{Roots: ca.pool(), SPIFFEBundleMap: map[string]*spiffebundle.Bundle{
			"elsewhere": bundle(t, "elsewhere", ca),
		}}),
		"nothing": newInstance(&certprovider.KeyMaterial{}),
		"broken":  newInstance(nil),
	})
	sans := func(name string) []resource.SAN { return []resource.SAN{{Name: match.Exact(name)}} }
	exact := sans("a.example.com")
	for _, tt := range []struct {
		name     string
		client   resource.ClientTLS
		server   resource.ServerTLS
		hostname string
		cErr     string // "": none; "*": any
		sErr     string // "": not looked at if there is cErr
		sni      string
	}{
		{name: "TLS", client: resource.ClientTLS{Roots: cert("roots")}, server: resource.ServerTLS{Identity: cert("server")}},
		{name: "one provider", client: resource.ClientTLS{Identity: cert("both"), Roots: cert("both")}, server: resource.ServerTLS{Identity: cert("both"), Roots: cert("both"), RequireClientCert: true}},
		{name: "other authority", client: resource.ClientTLS{Roots: cert("roots")}, server: resource.ServerTLS{Identity: cert("stranger")}, cErr: "certificate check failure"},
		{name: "SAN", client: resource.ClientTLS{Roots: cert("roots"), SANs: exact}, server: resource.ServerTLS{Identity: cert("server")}},
		{name: "no SAN", client: resource.ClientTLS{Roots: cert("roots"), SANs: sans("a.b.example.com")}, server: resource.ServerTLS{Identity: cert("server")}, cErr: "certificate check failure"},
		{name: "mutual", client: resource.ClientTLS{Roots: cert("roots"), Identity: cert("client")}, server: resource.ServerTLS{Identity: cert("server"), Roots: cert("roots"), RequireClientCert: true}},
		{name: "no client certificate", client: resource.ClientTLS{Roots: cert("roots")}, server: resource.ServerTLS{Identity: cert("server"), Roots: cert("roots"), RequireClientCert: true}, cErr: "certificate required", sErr: "didn't provide a certificate"},
		{name: "not required", client: resource.ClientTLS{Roots: cert("roots")}, server: resource.ServerTLS{Identity: cert("server"), Roots: cert("roots")}},
		{name: "stranger", client: resource.ClientTLS{Roots: cert("roots"), Identity: cert("stranger")}, server: resource.ServerTLS{Identity: cert("server"), Roots: cert("roots")}, cErr: "tls: ", sErr: "unknown authority"},
		{name: "the system's roots", client: resource.ClientTLS{}, server: resource.ServerTLS{Identity: cert("server")}, cErr: "certificate check failure"},
		{name: "A87 SPIFFE", client: resource.ClientTLS{Roots: cert("spiffe"), Identity: cert("client")}, server: resource.ServerTLS{Identity: cert("server"), Roots: cert("spiffe"), RequireClientCert: true}},
		{name: "A87 other trust domain", client: resource.ClientTLS{Roots: cert("elsewhere")}, server: resource.ServerTLS{Identity: cert("server")}, cErr: `no bundle for SPIFFE trust domain "domain"`},
		{name: "A87 client of another domain", client: resource.ClientTLS{Roots: cert("roots"), Identity: cert("client")}, server: resource.ServerTLS{Identity: cert("server"), Roots: cert("elsewhere")}, cErr: "tls: ", sErr: "no bundle"},
		{name: "A87 no client certificate", client: resource.ClientTLS{Roots: cert("roots")}, server: resource.ServerTLS{Identity: cert("server"), Roots: cert("spiffe"), RequireClientCert: true}, cErr: "certificate required", sErr: "didn't provide a certificate"},
		{name: "A101 SNI", client: resource.ClientTLS{Roots: cert("roots"), SNI: "x.example.com"}, server: resource.ServerTLS{Identity: cert("server")}, sni: "x.example.com"},
		{name: "A101 host's", client: resource.ClientTLS{Roots: cert("roots"), SNI: "x.example.com", AutoHostSNI: true}, hostname: "h.example.com:443", server: resource.ServerTLS{Identity: cert("server")}, sni: "h.example.com"},
		{name: "A101 no host", client: resource.ClientTLS{Roots: cert("roots"), SNI: "x.example.com", AutoHostSNI: true}, server: resource.ServerTLS{Identity: cert("server")}, sni: "x.example.com"},
		{name: "A101 SAN of the SNI", client: resource.ClientTLS{Roots: cert("roots"), SNI: "x.example.com", AutoSANValidation: true, SANs: sans("other")}, server: resource.ServerTLS{Identity: cert("server")}, sni: "x.example.com"},
		{name: "A101 wrong SAN", client: resource.ClientTLS{Roots: cert("roots"), SNI: "x.example.org", AutoSANValidation: true, SANs: exact}, server: resource.ServerTLS{Identity: cert("server")}, cErr: `"x.example.org"`},
		{name: "A101 no SNI", client: resource.ClientTLS{Roots: cert("roots"), AutoSANValidation: true, SANs: sans("other")}, server: resource.ServerTLS{Identity: cert("server")}, cErr: "no subject alternative name"},
		{name: "no roots", client: resource.ClientTLS{Roots: cert("nothing")}, server: resource.ServerTLS{Identity: cert("server")}, cErr: "no root certificates"},
		{name: "no identity", client: resource.ClientTLS{Roots: cert("roots")}, server: resource.ServerTLS{Identity: cert("nothing")}, cErr: "*", sErr: "no identity certificate"},
		{name: "unknown", client: resource.ClientTLS{Roots: cert("roots")}, server: resource.ServerTLS{Identity: cert("none")}, cErr: "*", sErr: `"none" is not in the bootstrap`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, s := &Client{}, NewServer(&tt.server, providers)
			defer c.Close()
			defer s.Close()
			if err := c.Set(&tt.client, providers); err != nil {
				t.Fatal(err)
			}
			client, server := shake(t, c, tt.hostname, s)
			if !has(client.err, tt.cErr) || tt.sErr != "" && !has(server.err, tt.sErr) {
				t.Fatalf("client: %v; server: %v", client.err, server.err)
			}
			if tt.cErr != "" {
				return
			}
			if server.err != nil {
				t.Fatal(server.err)
			}
			info := server.info.(credentials.TLSInfo)
			if info.State.ServerName != tt.sni {
				t.Errorf("server name %q, want %q", info.State.ServerName, tt.sni)
			}
			if got := len(info.State.PeerCertificates) > 0; got != (tt.client.Identity != resource.CertProvider{} && tt.server.Roots != resource.CertProvider{}) {
				t.Errorf("client's certificate: %t", got)
			}
			if info := client.info.(credentials.TLSInfo); info.SecurityLevel != credentials.PrivacyAndIntegrity || info.State.NegotiatedProtocol != "h2" {
				t.Errorf("%+v", info)
			}
		})
	}
}

func has(err error, text string) bool {
	if text == "" {
		return err == nil
	}
	return err != nil && (text == "*" || strings.Contains(err.Error(), text))
}

// TestUpdate: connections go by what a cluster says when they begin, and providers are built
// only if it wants others.
func TestUpdate(t *testing.T) {
	ca := newAuthority(t)
	first, second := newInstance(&certprovider.KeyMaterial{Roots: ca.pool()}), newInstance(&certprovider.KeyMaterial{Roots: newAuthority(t).pool()})
	server := newInstance(&certprovider.KeyMaterial{Certs: []tls.Certificate{ca.leaf(names{dns: []string{"x"}})}})
	providers := all(t, map[string]*instance{"first": first, "second": second, "server": server})
	s := NewServer(&resource.ServerTLS{Identity: cert("server")}, providers)
	c := &Client{}
	if secured(c) {
		t.Error("there is security from the start")
	}
	raw, _ := pair(t)
	if _, _, ok, err := c.Handshake(t.Context(), "", raw); ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
	try := func(want string) {
		t.Helper()
		if client, _ := shake(t, c, "", s); !has(client.err, want) {
			t.Errorf("%v, want %q", client.err, want)
		}
	}
	set := func(tls *resource.ClientTLS) {
		t.Helper()
		if err := c.Set(tls, providers); err != nil {
			t.Error(err)
		}
	}
	set(&resource.ClientTLS{Roots: cert("first")})
	try("")
	set(&resource.ClientTLS{Roots: cert("first")})
	try("")
	if n := first.builds.Load(); n != 1 {
		t.Errorf("built %d times", n)
	}
	set(&resource.ClientTLS{Roots: cert("second")})
	try("check failure")
	if n := first.closed.Load(); n != 1 {
		t.Errorf("closed %d times", n)
	}
	if err := c.Set(&resource.ClientTLS{Roots: cert("none")}, providers); err == nil {
		t.Error("an unknown instance is accepted")
	}
	try(`"none" is not in the bootstrap`)
	if n := second.closed.Load(); n != 1 {
		t.Errorf("closed %d times", n)
	}
	set(&resource.ClientTLS{Roots: cert("second")})
	try("check failure")
	second.Set(&certprovider.KeyMaterial{Roots: ca.pool()}, nil) // the files have changed
	try("")
	second.Set(nil, errors.New("unreadable"))
	try("unreadable")
	c.Close()
	try("no longer in use")
	if n := second.closed.Load(); n != 2 {
		t.Errorf("closed %d times", n)
	}
	s.Close()
	s.Close()
	if n := server.closed.Load(); n != 1 {
		t.Errorf("closed %d times", n)
	}
	raw, _ = pair(t)
	if _, _, err := s.Handshake(t.Context(), raw); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// TestA29BuildFails: "the fallback credentials is *not* used in case of errors". Connections to a cluster fail as long as a
// provider that it asks for cannot be built, whatever the cluster asked for before.
func TestA29BuildFails(t *testing.T) {
	ca := newAuthority(t)
	leaf := ca.leaf(names{dns: []string{"x"}})
	first := newInstance(&certprovider.KeyMaterial{Roots: ca.pool()})
	late := newInstance(&certprovider.KeyMaterial{Roots: ca.pool(), Certs: []tls.Certificate{leaf}})
	server := newInstance(&certprovider.KeyMaterial{Certs: []tls.Certificate{leaf}})
	providers := all(t, map[string]*instance{"first": first, "server": server})
	works := false
	providers["late"] = certprovider.NewBuildableConfig(t.Name()+"late", nil, func(certprovider.BuildOptions) certprovider.Provider {
		if !works {
			return nil
		}
		return late
	})
	s := NewServer(&resource.ServerTLS{Identity: cert("server")}, providers)
	defer s.Close()
	const text = `certificate provider instance "late"`
	for name, settings := range map[string]*resource.ClientTLS{
		"roots": {Roots: cert("late")}, "identity": {Roots: cert("first"), Identity: cert("late")}, "both": {Roots: cert("late"), Identity: cert("late")},
	} {
		for before, old := range map[string]*resource.ClientTLS{"nothing": nil, "others": {Roots: cert("first")}} {
			t.Run(name+" after "+before, func(t *testing.T) {
				works = false
				c := &Client{}
				defer c.Close()
				if err := c.Set(old, providers); err != nil {
					t.Fatal(err)
				}
				for range 2 { // the same again is as bad
					if err := c.Set(settings, providers); !has(err, text) {
						t.Errorf("Set: %v", err)
					}
					raw, peer := pair(t)
					conn, _, ok, err := c.Handshake(t.Context(), "", raw)
					if conn != nil || !ok || !has(err, text) || !secured(c) {
						t.Fatalf("%v, %t, %v", conn, ok, err)
					}
					if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
						t.Errorf("the connection is not closed: %v", err)
					}
				}
				if built, closed := first.builds.Load(), first.closed.Load(); built != closed {
					t.Errorf("what was used before is built %d times and closed %d times", built, closed)
				}
				works = true
				if err := c.Set(settings, providers); err != nil {
					t.Fatal(err)
				}
				if client, server := shake(t, c, "", s); client.err != nil || server.err != nil {
					t.Errorf("client: %v; server: %v", client.err, server.err)
				}
				if err := c.Set(nil, providers); err != nil || secured(c) {
					t.Errorf("%v; secured: %t", err, secured(c))
				}
			})
		}
	}
}

// TestBuildFailsOnce: a server whose certificate provider can't be built tries it again for the next connection.
func TestBuildFailsOnce(t *testing.T) {
	ca := newAuthority(t)
	identity := newInstance(&certprovider.KeyMaterial{Certs: []tls.Certificate{ca.leaf(names{dns: []string{"x"}})}})
	roots := newInstance(&certprovider.KeyMaterial{Roots: ca.pool()})
	providers := all(t, map[string]*instance{"identity": identity, "roots": roots})
	builds := 0
	providers["late"] = certprovider.NewBuildableConfig(t.Name(), nil, func(certprovider.BuildOptions) certprovider.Provider {
		if builds++; builds == 1 {
			return nil
		}
		return roots
	})
	c, s := &Client{}, NewServer(&resource.ServerTLS{Identity: cert("identity"), Roots: cert("late")}, providers)
	defer c.Close()
	if err := c.Set(&resource.ClientTLS{Roots: cert("roots")}, providers); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, conn := net.Pipe()
	if _, _, err := s.Handshake(over, conn); err == nil || builds != 0 {
		t.Errorf("a handshake whose time is over: %v, %d builds", err, builds)
	}
	if _, server := shake(t, c, "", s); !has(server.err, `certificate provider instance "late"`) {
		t.Error(server.err)
	}
	for range 2 {
		if client, server := shake(t, c, "", s); client.err != nil || server.err != nil {
			t.Errorf("client: %v; server: %v", client.err, server.err)
		}
	}
	s.Close()
	if built, closed := identity.builds.Load(), identity.closed.Load(); builds != 2 || built != 2 || closed != 2 {
		t.Errorf("built %d times; the other one is built %d times and closed %d times", builds, built, closed)
	}
}

// slowly makes a configuration whose provider, p, is built only when something comes from proceed. Each build sends
// something to begun first.
func slowly(t testing.TB, p certprovider.Provider) (config *certprovider.BuildableConfig, begun, proceed chan struct{}) {
	begun, proceed = make(chan struct{}), make(chan struct{})
	return certprovider.NewBuildableConfig(t.Name()+"slow", nil, func(certprovider.BuildOptions) certprovider.Provider {
		begun <- struct{}{}
		<-proceed
		return p
	}), begun, proceed
}

// TestClientWhileBuilding: a provider that takes long to be built delays neither handshakes nor Close.
func TestClientWhileBuilding(t *testing.T) {
	roots, broken := newInstance(nil), errors.New("broken")
	roots.Set(nil, broken)
	providers := all(t, map[string]*instance{"roots": roots})
	late := newInstance(nil)
	config, begun, proceed := slowly(t, late)
	providers["late"] = config
	c := &Client{}
	if err := c.Set(&resource.ClientTLS{Roots: cert("roots")}, providers); err != nil {
		t.Fatal(err)
	}
	set := make(chan error)
	go func() { set <- c.Set(&resource.ClientTLS{Roots: cert("late")}, providers) }()
	<-begun
	raw, _ := pair(t)
	if _, _, ok, err := c.Handshake(t.Context(), "", raw); !ok || !errors.Is(err, broken) || !secured(c) {
		t.Errorf("%t, %v", ok, err)
	}
	c.Close()
	close(proceed)
	if err := <-set; err != nil {
		t.Error(err)
	}
	if before, after := roots.closed.Load(), late.closed.Load(); before != 1 || after != 1 {
		t.Errorf("closed %d times before and %d times after the update", before, after)
	}
}

// TestServerWhileBuilding: a handshake waits for a provider that takes long to be built no longer than it may. The next one
// waits for the same one. Close does not wait.
func TestServerWhileBuilding(t *testing.T) {
	late := newInstance(nil)
	config, begun, proceed := slowly(t, late)
	s := NewServer(&resource.ServerTLS{Identity: cert("late")}, Providers{"late": config})
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error)
	handshake := func(ctx context.Context) {
		_, raw := pair(t)
		_, _, err := s.Handshake(ctx, raw)
		results <- err
	}
	go handshake(ctx)
	<-begun
	cancel()
	if err := <-results; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go handshake(t.Context())
	s.Close()
	close(proceed)
	if err := <-results; err != errClosed {
		t.Error(err)
	}
	<-s.built.done
	if n := late.closed.Load(); n != 1 {
		t.Errorf("closed %d times", n)
	}
}

// TestServerBuilderExits: a builder that ends its goroutine, as t.Fatal does, fails the handshake, and the next one tries it
// again.
func TestServerBuilderExits(t *testing.T) {
	builds := 0
	config := certprovider.NewBuildableConfig(t.Name(), nil, func(certprovider.BuildOptions) certprovider.Provider {
		builds++
		runtime.Goexit()
		return nil
	})
	s := NewServer(&resource.ServerTLS{Identity: cert("late")}, Providers{"late": config})
	defer s.Close()
	for range 2 {
		_, raw := pair(t)
		if _, _, err := s.Handshake(t.Context(), raw); err != errUnbuilt {
			t.Error(err)
		}
	}
	if builds != 2 {
		t.Errorf("%d builds", builds)
	}
}

// TestNoMaterial: a provider that returns neither certificates nor an error does not make a client trust the system's
// roots, or a server accept clients without certificates.
func TestNoMaterial(t *testing.T) {
	empty := newInstance(nil)
	empty.Set(nil, nil)
	ca := newAuthority(t)
	providers := all(t, map[string]*instance{
		"empty": empty, "server": newInstance(&certprovider.KeyMaterial{Certs: []tls.Certificate{ca.leaf(names{dns: []string{"x"}})}}),
	})
	c, s := &Client{}, NewServer(&resource.ServerTLS{Identity: cert("server"), Roots: cert("empty"), RequireClientCert: true}, providers)
	defer c.Close()
	defer s.Close()
	if err := c.Set(&resource.ClientTLS{Roots: cert("empty")}, providers); err != nil {
		t.Fatal(err)
	}
	client, server := shake(t, c, "", s)
	if !has(client.err, "root certificates: the certificate provider has returned nothing") || !has(server.err, "root certificates: the certificate provider has returned nothing") {
		t.Errorf("client: %v; server: %v", client.err, server.err)
	}
}

// TestWaits: a handshake waits for certificates that have not been read, no longer than it may,
// and keeps the provider open meanwhile.
func TestWaits(t *testing.T) {
	roots := newInstance(nil)
	c := &Client{}
	if err := c.Set(&resource.ClientTLS{Roots: cert("roots")}, all(t, map[string]*instance{"roots": roots})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	raw, peer := pair(t)
	done := make(chan error, 1)
	go func() {
		_, _, _, err := c.Handshake(ctx, "", raw)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the connection is not closed: %v", err)
	}
	c.Close()
	if n := roots.closed.Load(); n != 1 {
		t.Errorf("closed %d times", n)
	}
}

func TestMatchSAN(t *testing.T) {
	regex, err := match.Regex("spiffe://d/.*")
	if err != nil {
		t.Fatal(err)
	}
	ca := newAuthority(t)
	leaf := ca.leaf(names{
		dns: []string{"host.example.com", "*.wild.example.com"}, email: []string{"a@example.com"},
		uri: []string{"spiffe://d/w"}, ip: []net.IP{net.ParseIP("2001:DB8:0::01"), net.IPv4(10, 0, 0, 1)},
	}).Leaf
	for _, tt := range []struct {
		m    match.String
		want bool
	}{
		{match.Exact("host.example.com"), true},
		{match.Exact("HOST.example.com"), true},
		{match.Exact("x.wild.example.com"), true},
		{match.Exact("x.y.wild.example.com"), false},
		{match.Exact("wild.example.com"), false},
		{match.Exact("a@example.com"), true},
		{match.Exact("2001:db8::1"), true},
		{match.Exact("10.0.0.1"), true},
		{match.Exact("10.0.0.2"), false},
		{match.Exact(""), false},
		{regex, true},
	} {
		if got := matchSAN(&resource.SAN{Name: tt.m}, leaf); got != tt.want {
			t.Errorf("%v: %t", tt.m, got)
		}
	}
	// A matcher with a type looks at the names of that alone.
	for kind, name := range map[resource.SANKind]match.String{
		resource.DNSSAN: match.Exact("x.wild.example.com"), resource.EmailSAN: match.Exact("a@example.com"),
		resource.URISAN: regex, resource.IPSAN: match.Exact("2001:db8::1"),
	} {
		for k := resource.AnySAN; k <= resource.IPSAN; k++ {
			m := resource.SAN{Kind: k, Name: name}
			if got, want := matchSAN(&m, leaf), k == resource.AnySAN || k == kind; got != want {
				t.Errorf("%v: %t", m, got)
			}
		}
	}
}

// TestCertificateChecks: what a validation context may ask for beside roots and names, both roles.
func TestCertificateChecks(t *testing.T) {
	root := newAuthority(t)
	middle := root.intermediate()
	chain := func(n names) tls.Certificate {
		c := middle.leaf(n)
		c.Certificate = append(c.Certificate, middle.cert.Raw)
		return c
	}
	providers := all(t, map[string]*instance{
		"deep":  newInstance(&certprovider.KeyMaterial{Certs: []tls.Certificate{chain(names{dns: []string{"deep.test"}})}}),
		"flat":  newInstance(&certprovider.KeyMaterial{Certs: []tls.Certificate{root.leaf(names{dns: []string{"flat.test"}})}}),
		"roots": newInstance(&certprovider.KeyMaterial{Roots: root.pool()}),
	})
	typed := []resource.SAN{{Kind: resource.URISAN, Name: match.Exact("flat.test")}}
	flat := resource.ServerTLS{Identity: cert("flat")}
	for _, tt := range []struct {
		name       string
		client     resource.ClientTLS
		server     resource.ServerTLS
		cErr, sErr string
	}{
		{name: "a server's chain", client: resource.ClientTLS{Roots: cert("roots"), MaxDepth: 2}, server: resource.ServerTLS{Identity: cert("deep")}},
		{name: "a server's, too long", client: resource.ClientTLS{Roots: cert("roots"), MaxDepth: 1}, server: resource.ServerTLS{Identity: cert("deep")}, cErr: "max_verify_depth"},
		{name: "a server's, short", client: resource.ClientTLS{Roots: cert("roots"), MaxDepth: 1}, server: flat},
		{name: "a client's chain", client: resource.ClientTLS{Roots: cert("roots"), Identity: cert("deep")}, server: resource.ServerTLS{Identity: cert("flat"), Roots: cert("roots"), MaxDepth: 2}},
		{name: "a client's, too long", client: resource.ClientTLS{Roots: cert("roots"), Identity: cert("deep")}, server: resource.ServerTLS{Identity: cert("flat"), Roots: cert("roots"), MaxDepth: 1}, cErr: "tls: ", sErr: "max_verify_depth"},
		{name: "no certificate, where one is required", client: resource.ClientTLS{Roots: cert("roots")}, server: resource.ServerTLS{Identity: cert("flat"), Roots: cert("roots"), MaxDepth: 1, RequireClientCert: true}, cErr: "certificate required", sErr: "didn't provide"},
		{name: "hidden roots", client: resource.ClientTLS{Roots: cert("roots"), Identity: cert("flat")}, server: resource.ServerTLS{Identity: cert("flat"), Roots: cert("roots"), HideRoots: true, RequireClientCert: true}},
		{name: "hidden roots, a name of another kind", client: resource.ClientTLS{Roots: cert("roots"), SANs: typed}, server: flat, cErr: "no subject alternative name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, s := &Client{}, NewServer(&tt.server, providers)
			defer c.Close()
			defer s.Close()
			if err := c.Set(&tt.client, providers); err != nil {
				t.Fatal(err)
			}
			client, server := shake(t, c, "", s)
			if !has(client.err, tt.cErr) || !has(server.err, tt.sErr) && tt.cErr == "" || tt.sErr != "" && !has(server.err, tt.sErr) {
				t.Fatalf("client: %v; server: %v", client.err, server.err)
			}
		})
	}
	for _, tt := range []struct {
		server  resource.ServerTLS
		named   bool // clients are told the roots
		tickets bool
	}{
		{resource.ServerTLS{}, true, true},
		{resource.ServerTLS{MaxDepth: 2}, true, true},
		{resource.ServerTLS{HideRoots: true, NoResumption: true}, false, false},
	} {
		s := NewServer(&tt.server, providers)
		config, err := s.tlsConfig(&certprovider.KeyMaterial{}, &certprovider.KeyMaterial{Roots: root.pool()})
		if err != nil || (config.ClientCAs != nil) != tt.named || config.SessionTicketsDisabled == tt.tickets {
			t.Errorf("%+v: %+v, %v", tt.server, config, err)
		}
	}
}

func TestMatchDNS(t *testing.T) {
	for _, tt := range []struct {
		host, pattern string
		want          bool
	}{
		{"a.b", "a.b", true},
		{"A.b", "a.B", true},
		{"a.b.", "a.b", true},
		{"a.b", "a.b.", true},
		{"a.b", "*.b", true},
		{"a.b", "*.B.", true},
		{"a", "*", false},
		{"a.b", "*", false},
		{"a.b", "*.", false},
		{"a.b", "a.*", false},
		{"a.b.c", "*.c", false},
		{"a.b.c", "*.*.c", false},
		{"aa.b", "a*.b", false},
		{".b", "*.b", false},
		{"", "", false},
		{"b", "*.b", false},
	} {
		if got := matchDNS(tt.host, tt.pattern); got != tt.want {
			t.Errorf("%q, %q: %t", tt.host, tt.pattern, got)
		}
	}
}

func TestSPIFFERoots(t *testing.T) {
	ca := newAuthority(t)
	r := roots{bundles: map[string]*spiffebundle.Bundle{"d": bundle(t, "d", ca)}}
	for _, tt := range []struct {
		n    names
		want string
	}{
		{names{uri: []string{"spiffe://d/w"}}, ""},
		{names{uri: []string{"spiffe://e/w"}}, "no bundle"},
		{names{uri: []string{"spiffe://d/a/../w"}}, "malformed"},
		{names{uri: []string{"spiffe://d/w/"}}, "malformed"},
		{names{uri: []string{"spiffe://d/w?q"}}, "malformed"},
		{names{dns: []string{"d"}}, "no SPIFFE ID"},
		{names{uri: []string{"spiffe://d/w", "spiffe://d/x"}}, "no SPIFFE ID"},
	} {
		if _, err := r.of(ca.leaf(tt.n).Leaf); !has(err, tt.want) {
			t.Errorf("%v: %v", tt.n, err)
		}
	}
	if pool, err := (roots{pool: ca.pool()}).of(&x509.Certificate{}); pool == nil || err != nil {
		t.Error(pool, err)
	}
}

func TestAddress(t *testing.T) {
	c := &Client{}
	a := SetAddress(resolver.Address{Addr: "a"}, c, "host")
	if got, hostname := OfAddress(a.Attributes); got != c || hostname != "host" {
		t.Errorf("%v, %q", got, hostname)
	}
	if got, _ := OfAddress(nil); got != nil {
		t.Error(got)
	}
	if b := SetAddress(resolver.Address{Addr: "a"}, c, "host"); !a.Equal(b) {
		t.Error("the same is not equal")
	}
}
