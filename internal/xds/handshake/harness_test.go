// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/resource"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// authority signs certificates.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	a.cert = a.sign(template, template, key)
	return a
}

// intermediate returns one that a has signed.
func (a *authority) intermediate() *authority {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "intermediate authority"},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	return &authority{t: a.t, key: key, cert: a.sign(template, a.cert, key)}
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// names are the subject alternative names of a certificate.
type names struct {
	dns, email, uri []string
	ip              []net.IP
}

func (a *authority) leaf(n names) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    n.dns, EmailAddresses: n.email, IPAddresses: n.ip,
	}
	for _, s := range n.uri {
		u, err := url.Parse(s)
		if err != nil {
			a.t.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	cert := a.sign(template, a.cert, key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

// instance is a certificate provider of a test.
type instance struct {
	*certprovider.Distributor
	builds, closed atomic.Int32
}

func newInstance(km *certprovider.KeyMaterial) *instance {
	p := &instance{Distributor: certprovider.NewDistributor()}
	if km != nil {
		p.Set(km, nil)
	}
	return p
}

func (p *instance) Close() { p.closed.Add(1) }

// all makes configurations of instances, by name.
func all(t testing.TB, instances map[string]*instance) Providers {
	out := make(Providers)
	for name, p := range instances {
		out[name] = certprovider.NewBuildableConfig(t.Name()+name, nil, func(certprovider.BuildOptions) certprovider.Provider {
			p.builds.Add(1)
			return p
		})
	}
	return out
}

func cert(name string) resource.CertProvider { return resource.CertProvider{Instance: name} }

// pair returns the two ends of a TCP connection.
func pair(t testing.TB) (client, server net.Conn) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	if client, err = net.Dial("tcp", lis.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = lis.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{client, server} {
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		t.Cleanup(func() { c.Close() })
	}
	return client, server
}

// outcome is what a handshake came to.
type outcome struct {
	conn net.Conn
	info credentials.AuthInfo
	err  error
}

// shake runs a handshake of both ends, and returns the client's and the server's outcome. With
// TLS 1.3 a client hears only afterwards that its certificate is refused, so it reads a byte.
func shake(t testing.TB, c *Client, hostname string, s *Server) (client, server outcome) {
	t.Helper()
	cc, sc := pair(t)
	done := make(chan outcome, 1)
	go func() {
		conn, info, err := s.Handshake(t.Context(), sc)
		if err == nil {
			_, err = conn.Write([]byte{1})
		}
		done <- outcome{conn, info, err}
	}()
	conn, info, ok, err := c.Handshake(t.Context(), hostname, cc)
	if !ok {
		t.Fatal("no security")
	}
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	return outcome{conn, info, err}, <-done
}

// secured reports whether the cluster's settings secure connections, and not the fallback credentials. It is
// true also if the settings cannot be used: then connections fail.
func secured(c *Client) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.config != nil
}
