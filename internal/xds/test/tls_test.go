// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/internal/envconfig"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// securedBy is a cluster with the context.
func securedBy(name string, m *tlsv3.UpstreamTlsContext) *clusterv3.Cluster {
	c := cluster(name)
	c.TransportSocket = &corev3.TransportSocket{Name: "envoy.transport_sockets.tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: mustAny(m)}}
	return c
}

// tlsBackend is a server with a certificate, which notes the server name that clients send.
func tlsBackend(t *testing.T, cert tls.Certificate) (b *backend, sni *atomic.Value) {
	t.Helper()
	sni = new(atomic.Value)
	b = newBackend(t, "secure", grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}})))
	b.handle = func(ctx context.Context) error {
		if from, ok := peer.FromContext(ctx); ok {
			sni.Store(from.AuthInfo.(credentials.TLSInfo).State.ServerName)
		}
		return nil
	}
	return b, sni
}

// secureChannel is one with the credentials of xDS.
func secureChannel(t *testing.T, p *plane, providers string, change func(*xdsclient.Options)) *grpc.ClientConn {
	t.Helper()
	creds, err := xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		t.Fatal(err)
	}
	pool := poolWith(t, serverText(p, providers), change)
	return channelTo(t, "xds:///target", xdsresolver.Builder{Pool: pool}, grpc.WithTransportCredentials(creds))
}

func loadPair(t *testing.T, f testcerts.Files) tls.Certificate {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestA82SystemRoots: a cluster may want the roots of the system. They are read once a process, so
// that it takes another one to set them.
func TestA82SystemRoots(t *testing.T) {
	const variable = "SYSTEM_ROOTS_OF_TEST"
	dir := os.Getenv(variable)
	if dir == "" {
		files, err := testcerts.Write(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestA82SystemRoots$")
		c.Env = append(os.Environ(), variable+"="+filepath.Dir(files.CA), "SSL_CERT_FILE="+files.CA)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	own := testcerts.Files{Cert: filepath.Join(dir, "server.pem"), Key: filepath.Join(dir, "server-key.pem")}
	stranger, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		cert testcerts.Files
		want codes.Code
	}{{"known", own, codes.OK}, {"unknown", stranger, codes.Unavailable}} {
		p := newPlane(t)
		a, _ := tlsBackend(t, loadPair(t, tt.cert))
		c := securedBy("c", &tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
			ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
				SystemRootCerts: &tlsv3.CertificateValidationContext_SystemRootCerts{},
			}},
		}})
		p.set(listener("target", "r"), routes(to("c")), c, assignment("c", local("z", 0, 1, a)))
		cc := secureChannel(t, p, "", func(o *xdsclient.Options) { o.Features.SystemRootCerts = true })
		if _, err := try(t.Context(), t, cc); status.Code(err) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestA101SNI: a cluster says which server name is sent, or that it is the endpoint's.
func TestA101SNI(t *testing.T) {
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	providers := fmt.Sprintf(`{"files":{"plugin_name":"file_watcher","config":{"ca_certificate_file":%q}}}`, files.CA)
	for _, tt := range []struct {
		name string
		m    *tlsv3.UpstreamTlsContext
		want string
		code codes.Code
	}{
		{"sni", &tlsv3.UpstreamTlsContext{Sni: testcerts.ServerName}, testcerts.ServerName, codes.OK},
		{"of the host", &tlsv3.UpstreamTlsContext{Sni: "other.test", AutoHostSni: true}, "localhost", codes.OK},
		{"validated", &tlsv3.UpstreamTlsContext{Sni: testcerts.ServerName, AutoSniSanValidation: true}, testcerts.ServerName, codes.OK},
		{"not valid", &tlsv3.UpstreamTlsContext{Sni: "other.test", AutoSniSanValidation: true}, "", codes.Unavailable},
	} {
		p := newPlane(t)
		a, sni := tlsBackend(t, loadPair(t, files))
		tt.m.CommonTlsContext = &tlsv3.CommonTlsContext{
			ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
				CaCertificateProviderInstance: &tlsv3.CertificateProviderPluginInstance{InstanceName: "files"},
			}},
		}
		l := local("z", 0, 1, a)
		l.LbEndpoints[0].GetEndpoint().Hostname = "localhost"
		p.set(listener("target", "r"), routes(to("c")), securedBy("c", tt.m), assignment("c", l))
		cc := secureChannel(t, p, providers, func(o *xdsclient.Options) { o.Features.SNI = true })
		if _, err := try(t.Context(), t, cc); status.Code(err) != tt.code {
			t.Errorf("%s: %v", tt.name, err)
		} else if got, _ := sni.Load().(string); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// workload makes a certificate with a SPIFFE ID, of an authority of its own.
func workload(t *testing.T, id string) (cert tls.Certificate, authority *x509.Certificate) {
	t.Helper()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	sign := func(template, parent *x509.Certificate, public *ecdsa.PublicKey, by *ecdsa.PrivateKey) *x509.Certificate {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	rootKey, leafKey := key(), key()
	root := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	root = sign(root, root, &rootKey.PublicKey, rootKey)
	name, err := url.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	leaf := sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), URIs: []*url.URL{name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, root, &leafKey.PublicKey, rootKey)
	return tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: leafKey, Leaf: leaf}, root
}

// bundleMap is a SPIFFE bundle map of one trust domain.
func bundleMap(t *testing.T, domain string, root *x509.Certificate) string {
	t.Helper()
	public, err := root.PublicKey.(*ecdsa.PublicKey).ECDH()
	if err != nil {
		t.Fatal(err)
	}
	point := public.Bytes()[1:]
	return fmt.Sprintf(`{"trust_domains":{%q:{"spiffe_sequence":1,"keys":[{"kty":"EC","use":"x509-svid","crv":"P-256","x":%q,"y":%q,"x5c":[%q]}]}}}`,
		domain, base64.RawURLEncoding.EncodeToString(point[:32]), base64.RawURLEncoding.EncodeToString(point[32:]),
		base64.StdEncoding.EncodeToString(root.Raw))
}

// TestA87SPIFFE: roots are those of the trust domain that a server's certificate names.
func TestA87SPIFFE(t *testing.T) {
	before := envconfig.XDSSPIFFE
	envconfig.XDSSPIFFE = true
	t.Cleanup(func() { envconfig.XDSSPIFFE = before })
	cert, root := workload(t, "spiffe://shops.test/server")
	for domain, want := range map[string]codes.Code{"shops.test": codes.OK, "others.test": codes.Unavailable} {
		t.Run(domain, func(t *testing.T) {
			dir := t.TempDir()
			bundles, ca := filepath.Join(dir, "bundles.json"), filepath.Join(dir, "ca.pem")
			for path, text := range map[string][]byte{
				bundles: []byte(bundleMap(t, domain, root)),
				ca:      pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw}),
			} {
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := newPlane(t)
			a, _ := tlsBackend(t, cert)
			c := securedBy("c", &tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
				ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
					CaCertificateProviderInstance: &tlsv3.CertificateProviderPluginInstance{InstanceName: "files"},
				}},
			}})
			p.set(listener("target", "r"), routes(to("c")), c, assignment("c", local("z", 0, 1, a)))
			// The bundle map comes before the authority's certificate (A87).
			providers := fmt.Sprintf(`{"files":{"plugin_name":"file_watcher","config":{"ca_certificate_file":%q,"spiffe_trust_bundle_map_file":%q}}}`, ca, bundles)
			cc := secureChannel(t, p, providers, func(*xdsclient.Options) {})
			_, err := try(t.Context(), t, cc)
			if status.Code(err) != want || want != codes.OK && !strings.Contains(err.Error(), "shops.test") {
				t.Error(err)
			}
		})
	}
}
