// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/url"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/authz"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// certNames are the names in a client's certificate.
type certNames struct {
	uris, dns, emails []string
	ip                bool
	subject           pkix.Name
}

// clientNames are those of clients that a policy decides about.
var clientNames = map[string]certNames{
	"none":                  {},
	"a subject":             {subject: pkix.Name{CommonName: "probe", Organization: []string{"shop", "yard"}, Country: []string{"X"}}},
	"an email address":      {emails: []string{"a@probe.example"}, subject: pkix.Name{CommonName: "probe"}},
	"an IP address":         {ip: true, subject: pkix.Name{CommonName: "probe"}},
	"DNS":                   {dns: []string{"a.example", "*.b.example"}, subject: pkix.Name{CommonName: "probe"}},
	"a URI":                 {uris: []string{"spiffe://x/a"}, subject: pkix.Name{CommonName: "probe"}},
	"two URIs":              {uris: []string{"spiffe://x/a", "https://y/b?c#d"}, subject: pkix.Name{CommonName: "probe"}},
	"a URI beside DNS":      {uris: []string{"spiffe://x/a"}, dns: []string{"a.example"}, subject: pkix.Name{CommonName: "probe"}},
	"two of each":           {uris: []string{"spiffe://x/a", "spiffe://x/b"}, dns: []string{"a.example", "b.example"}, emails: []string{"a@probe.example"}, ip: true},
	"a URI to be escaped":   {uris: []string{"spiffe://X/%41 b"}},
	"a URI without a host":  {uris: []string{"urn:a:b"}, dns: []string{"a.example"}},
	"a URI that is another": {uris: []string{"https://a.example"}, dns: []string{"a.example"}},
}

// principals are those that rules have, one at a time.
var principals = []string{
	"", "*", "spiffe://x/a", "spiffe://x/*", "spiffe://x/b", "*/b", "https://y/b?c#d", "a.example", "b.example", "*.b.example", "x.b.example", "*.example", "A.EXAMPLE",
	"CN=probe", "CN=probe*", "*CN=probe", "CN=probe,O=shop+O=yard,C=X", "probe", "a@probe.example", "127.0.0.1", "spiffe://X/%41 b", "spiffe://X/%41%20b", "spiffe://X/A b", "spiffe://X/A%20b",
	"urn:a:b", "https://a.example",
}

// certificate has these names.
func (n certNames) certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: n.subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: n.dns, EmailAddresses: n.emails,
	}
	if n.ip {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	for _, text := range n.uris {
		u, err := url.Parse(text)
		if err != nil {
			panic(err)
		}
		template.URIs = append(template.URIs, u)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// clientNameProbes print by which principals rules mean a client.
func clientNameProbes() []probe.Probe {
	var out []probe.Probe
	for name, n := range clientNames {
		out = append(out, probe.Probe{Name: "authz/names/" + name, Run: func(p *probe.P) {
			cert, pool := rig.Certificate()
			var i *authz.StaticInterceptor
			guard := grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
				return i.UnaryInterceptor(ctx, req, info, handler)
			})
			s := rig.Pair{
				TCP: true, Secure: true,
				Server: []grpc.ServerOption{guard, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert}))},
				Dial: []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
					RootCAs: pool, ServerName: "probe.example", Certificates: []tls.Certificate{n.certificate()},
				}))},
			}.Start(p)
			for _, principal := range principals {
				var err error
				if i, err = authz.NewStatic(`{"name":"p","allow_rules":[{"name":"r","source":{"principals":["` + principal + `"]}}]}`); err != nil {
					panic(err)
				}
				p.Printf("%q: %s", principal, call(p.Context(), s))
			}
		}})
	}
	return out
}
