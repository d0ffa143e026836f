// SPDX-License-Identifier: Apache-2.0

package siblings

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/credentials/tls/certprovider/pemfile"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/security/advancedtls"
)

// authority issues certificates into files, the way a renewing agent does.
type authority struct {
	t    *testing.T
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir(), key: newKey(t)}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.write("roots.pem", "CERTIFICATE", a.create(a.cert, a.key))
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

func (a *authority) create(c *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

// issue puts a certificate with that serial number, and its key, where the provider reads.
func (a *authority) issue(serial int64) {
	a.t.Helper()
	key := newKey(a.t)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write("key.pem", "PRIVATE KEY", pkcs8)
	a.write("cert.pem", "CERTIFICATE", a.create(&x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"server.test"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, key))
}

func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) provider() certprovider.Provider {
	a.t.Helper()
	p, err := pemfile.NewProvider(pemfile.Options{
		CertFile: filepath.Join(a.dir, "cert.pem"), KeyFile: filepath.Join(a.dir, "key.pem"),
		RootFile: filepath.Join(a.dir, "roots.pem"), RefreshDuration: time.Millisecond,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(p.Close)
	return p
}

// await waits until a provider has read the certificate with that serial number.
func await(t *testing.T, p certprovider.Provider, serial int64) {
	t.Helper()
	for {
		km, err := p.KeyMaterial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(km.Certs[0].Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if leaf.SerialNumber.Int64() == serial {
			return
		}
		runtime.Gosched()
	}
}

// dial returns a channel, and a function that makes a call on it and returns the serial
// number of the server's certificate.
func dial(t *testing.T, addr string, p certprovider.Provider) (serial func() int64) {
	t.Helper()
	creds, err := advancedtls.NewClientCreds(&advancedtls.Options{
		IdentityOptions: advancedtls.IdentityCertificateOptions{IdentityProvider: p},
		RootOptions:     advancedtls.RootCertificateOptions{RootProvider: p},
	})
	if err != nil {
		t.Fatal(err)
	}
	cc, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(creds), grpc.WithAuthority("server.test"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return func() int64 {
		t.Helper()
		var who peer.Peer
		if _, err := healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.Peer(&who)); err != nil {
			t.Fatal(err)
		}
		return who.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].SerialNumber.Int64()
	}
}

// Both sides have their certificates from files that are replaced while they run: new
// connections get the new one, those that exist go on. None of them needs a goroutine while
// it is idle.
func TestAdvancedTLSReloadsFiles(t *testing.T) {
	a := newAuthority(t)
	a.issue(10)
	p := a.provider()
	creds, err := advancedtls.NewServerCreds(&advancedtls.Options{
		IdentityOptions:   advancedtls.IdentityCertificateOptions{IdentityProvider: p},
		RootOptions:       advancedtls.RootCertificateOptions{RootProvider: p},
		RequireClientCert: true,
		VerificationType:  advancedtls.CertVerification,
	})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.Creds(creds))
	healthpb.RegisterHealthServer(s, health.NewServer())
	go s.Serve(lis)
	t.Cleanup(s.Stop)

	before := dial(t, lis.Addr().String(), p)
	if got := before(); got != 10 {
		t.Errorf("serial number %d, want 10", got)
	}
	a.issue(11)
	await(t, p, 11)
	if got := before(); got != 10 {
		t.Errorf("a connection that exists has serial number %d, want 10", got)
	}
	after := dial(t, lis.Addr().String(), p)
	if got := after(); got != 11 {
		t.Errorf("a new connection has serial number %d, want 11", got)
	}
	if reasons := footprint.Unparkable(); len(reasons) > 0 {
		t.Errorf("connections that keep a goroutine: %v", reasons)
	}
}
