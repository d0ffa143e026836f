// SPDX-License-Identifier: Apache-2.0

package authz_test

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
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/authz"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// authority signs the certificates of a test's servers and clients.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, key: newKey(t), pool: x509.NewCertPool()}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(leaf x509.Certificate) tls.Certificate {
	a.t.Helper()
	key := newKey(a.t)
	leaf.SerialNumber = big.NewInt(2)
	leaf.NotAfter = time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, &leaf, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// server is what a server shows, and asks a client for.
func (a *authority) server() credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{a.sign(x509.Certificate{DNSNames: []string{"server.test"}})},
		ClientCAs:    a.pool, ClientAuth: tls.VerifyClientCertIfGiven,
	})
}

func (a *authority) client(certs ...tls.Certificate) credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{Certificates: certs, RootCAs: a.pool, ServerName: "server.test"})
}

// identity is one kind of client.
type identity struct {
	name           string
	server, client credentials.TransportCredentials
}

func identities(t *testing.T) []identity {
	a := newAuthority(t)
	subject := pkix.Name{CommonName: "cn, x", Organization: []string{"o+p"}, Country: []string{"DE"}}
	spiffe, other := &url.URL{Scheme: "spiffe", Host: "foo", Path: "/a"}, &url.URL{Scheme: "https", Host: "foo", Path: "/b"}
	dns := []string{"d.test", "e.test"}
	with := func(c x509.Certificate) identity {
		return identity{server: a.server(), client: a.client(a.sign(c))}
	}
	all := []identity{
		{"insecure", insecure.NewCredentials(), insecure.NewCredentials()},
		{"none", a.server(), a.client()},
		with(x509.Certificate{Subject: subject, URIs: []*url.URL{spiffe}, DNSNames: dns}),
		with(x509.Certificate{Subject: subject, URIs: []*url.URL{other, spiffe}}),
		with(x509.Certificate{Subject: subject, DNSNames: dns}),
		with(x509.Certificate{Subject: subject, EmailAddresses: []string{"a@b.test"}}),
		with(x509.Certificate{EmailAddresses: []string{"a@b.test"}}),
	}
	for i, name := range []string{"spiffe", "uris", "dns", "subject", "empty"} {
		all[2+i].name = name
	}
	return all
}

// interceptor is what both kinds of this package are.
type interceptor interface {
	UnaryInterceptor(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error)
	StreamInterceptor(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error
}

var (
	_ interceptor = (*authz.StaticInterceptor)(nil)
	_ interceptor = (*authz.FileWatcherInterceptor)(nil)
)

// serve starts a server with a health service behind i.
func serve(t *testing.T, i interceptor, id identity) healthpb.HealthClient {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.Creds(id.server), grpc.UnaryInterceptor(i.UnaryInterceptor), grpc.StreamInterceptor(i.StreamInterceptor))
	healthpb.RegisterHealthServer(s, health.NewServer())
	go s.Serve(lis)
	t.Cleanup(s.Stop)
	cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(id.client))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return healthpb.NewHealthClient(cc)
}
