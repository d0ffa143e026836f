// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// identity is a self-signed certificate for the given names.
type identity struct {
	cert  tls.Certificate
	roots *x509.CertPool
}

func newIdentity(t testing.TB, uris []*url.URL, names ...string) identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
		DNSNames:              names,
		URIs:                  uris,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return identity{cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, roots: roots}
}

// files writes certificate and key as PEM.
func (id identity) files(t *testing.T) (cert, key string) {
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(id.cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: id.cert.Certificate[0]},
		key:  {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// result is what one side of a handshake returned.
type result struct {
	conn net.Conn
	info AuthInfo
	err  error
}

// socketPair returns both ends of a loopback connection. (A net.Pipe holds nothing:
// two alerts that cross would wait for each other.)
func socketPair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// connect shakes hands and returns what both sides got.
func connect(t *testing.T, client, server TransportCredentials, authority string) (c, s result) {
	t.Helper()
	rawClient, rawServer := socketPair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.conn, s.info, s.err = server.ServerHandshake(rawServer)
		if s.err == nil {
			_, s.err = s.conn.Write([]byte("from server"))
		}
	}()
	c.conn, c.info, c.err = client.ClientHandshake(t.Context(), authority, rawClient)
	if c.err == nil {
		b := make([]byte, len("from server"))
		if _, err := io.ReadFull(c.conn, b); err == nil && string(b) != "from server" {
			t.Errorf("read %q", b)
		} else if err != nil {
			c.conn.Close()
		}
	}
	<-done
	return c, s
}

func TestTLS(t *testing.T) {
	spiffe := &url.URL{Scheme: "spiffe", Host: "domain", Path: "/workload"}
	server := newIdentity(t, nil, "server.test")
	user := newIdentity(t, []*url.URL{spiffe})
	serverCreds := NewTLS(&tls.Config{
		Certificates: []tls.Certificate{server.cert},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    user.roots,
	})
	clientCreds := NewTLS(&tls.Config{RootCAs: server.roots, Certificates: []tls.Certificate{user.cert}})
	c, s := connect(t, clientCreds, serverCreds, "server.test:443")
	if c.err != nil || s.err != nil {
		t.Fatalf("client %v, server %v", c.err, s.err)
	}
	ci, si := c.info.(TLSInfo), s.info.(TLSInfo)
	for side, info := range map[string]TLSInfo{"client": ci, "server": si} {
		if info.AuthType() != "tls" || info.GetCommonAuthInfo().SecurityLevel != PrivacyAndIntegrity || info.State.NegotiatedProtocol != "h2" {
			t.Errorf("%s: %q %v %q", side, info.AuthType(), info.SecurityLevel, info.State.NegotiatedProtocol)
		}
	}
	if si.SPIFFEID == nil || *si.SPIFFEID != *spiffe || ci.SPIFFEID != nil {
		t.Errorf("SPIFFE IDs: server sees %v, client %v", si.SPIFFEID, ci.SPIFFEID)
	}
	for authority, ok := range map[string]bool{"server.test": true, "server.test:1": true, "other.test": false, "": false} {
		if err := ci.ValidateAuthority(authority); (err == nil) != ok {
			t.Errorf("authority %q: %v", authority, err)
		}
	}
	v := ci.GetSecurityValue().(*TLSChannelzSecurityValue)
	if v.StandardName != tls.CipherSuiteName(ci.State.CipherSuite) || string(v.RemoteCertificate) != string(server.cert.Certificate[0]) {
		t.Errorf("security value %+v", v)
	}
	if err := (TLSInfo{}).ValidateAuthority("x"); err == nil {
		t.Error("an authority is valid without a certificate")
	}
}

func TestServerName(t *testing.T) {
	id := newIdentity(t, nil, "server.test")
	server := NewServerTLSFromCert(&id.cert)
	overridden := NewClientTLSFromCert(id.roots, "")
	if err := overridden.OverrideServerName("server.test"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		client    TransportCredentials
		authority string
		ok        bool
	}{
		{"authority", NewClientTLSFromCert(id.roots, ""), "server.test", true},
		{"authority with port", NewClientTLSFromCert(id.roots, ""), "server.test:80", true},
		{"wrong authority", NewClientTLSFromCert(id.roots, ""), "other.test", false},
		{"configured name wins", NewClientTLSFromCert(id.roots, "server.test"), "other.test:80", true},
		{"wrong configured name", NewClientTLSFromCert(id.roots, "other.test"), "server.test", false},
		{"overridden", overridden, "other.test", true},
		{"clone", overridden.Clone(), "other.test", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := connect(t, tt.client, server, tt.authority)
			if (c.err == nil) != tt.ok {
				t.Errorf("client: %v", c.err)
			}
		})
	}
	if got := overridden.Info(); got.ServerName != "server.test" || got.SecurityProtocol != "tls" {
		t.Errorf("Info: %+v", got)
	}
}

func TestCloneIsApart(t *testing.T) {
	orig := NewTLS(&tls.Config{ServerName: "a"})
	clone := orig.Clone()
	_ = clone.OverrideServerName("b")
	if orig.Info().ServerName != "a" || clone.Info().ServerName != "b" {
		t.Errorf("%q %q", orig.Info().ServerName, clone.Info().ServerName)
	}
}

func TestUserConfigIsCopied(t *testing.T) {
	protos := make([]string, 1, 4)
	protos[0] = "other"
	user := &tls.Config{NextProtos: protos}
	got := NewTLS(user).(*tlsCreds).config
	if !slices.Equal(got.NextProtos, []string{"other", "h2"}) {
		t.Errorf("NextProtos %q", got.NextProtos)
	}
	if len(user.NextProtos) != 1 || protos[:2][1] != "" || user.MinVersion != 0 || user.CipherSuites != nil {
		t.Errorf("the user's config changed: %+v", user.NextProtos)
	}
	if NewTLS(nil).Info().SecurityProtocol != "tls" {
		t.Error("a nil config does not work")
	}
}

// TestDefaults: RFC 9113, sections 3.2, 9.2 and 9.2.2, for both roles.
func TestDefaults(t *testing.T) {
	if got := withDefaults(nil).NextProtos; !slices.Equal(got, []string{"h2"}) {
		t.Errorf("ALPN offers %q", got)
	}
	for _, tt := range []struct {
		name string
		in   *tls.Config
		min  uint16
	}{
		{"none", &tls.Config{}, tls.VersionTLS12},
		{"least set", &tls.Config{MinVersion: tls.VersionTLS11}, tls.VersionTLS11},
		{"greatest 1.3", &tls.Config{MaxVersion: tls.VersionTLS13}, tls.VersionTLS12},
		{"greatest 1.1", &tls.Config{MaxVersion: tls.VersionTLS11}, 0},
	} {
		if got := withDefaults(tt.in).MinVersion; got != tt.min {
			t.Errorf("%s: least version %x, want %x", tt.name, got, tt.min)
		}
	}
	suites := withDefaults(nil).CipherSuites
	for _, id := range suites {
		if name := tls.CipherSuiteName(id); strings.Contains(name, "CBC") || strings.HasPrefix(name, "TLS_RSA") {
			t.Errorf("%s is among the defaults", name)
		}
	}
	// RFC 9113, section 9.2.2: this one must be there.
	if !slices.Contains(suites, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256) {
		t.Error("the mandatory suite is missing")
	}
	own := []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}
	if got := withDefaults(&tls.Config{CipherSuites: own}).CipherSuites; !slices.Equal(got, own) {
		t.Errorf("the user's suites became %v", got)
	}
}

// foreign is credentials of TLS without the additions of NewTLS.
func foreign(c *tls.Config) TransportCredentials { return &tlsCreds{config: c} }

// TestALPN: RFC 9113, section 3.3, for both roles: over TLS the protocol is negotiated.
func TestALPN(t *testing.T) {
	id := newIdentity(t, nil, "server.test")
	withoutServer := foreign(&tls.Config{Certificates: []tls.Certificate{id.cert}})
	withoutClient := foreign(&tls.Config{RootCAs: id.roots, ServerName: "server.test"})
	for _, require := range []bool{true, false} {
		client := NewClientTLSFromCert(id.roots, "server.test").(*tlsCreds)
		server := NewServerTLSFromCert(&id.cert).(*tlsCreds)
		client.requireALPN, server.requireALPN = require, require

		c, _ := connect(t, client.Clone(), withoutServer, "")
		if require != errors.Is(c.err, errNoALPN) {
			t.Errorf("required %v: client has %v", require, c.err)
		}
		_, s := connect(t, withoutClient, server.Clone(), "")
		if require != errors.Is(s.err, errNoALPN) {
			t.Errorf("required %v: server has %v", require, s.err)
		}
	}
	if !NewTLS(nil).(*tlsCreds).requireALPN {
		t.Error("ALPN is not required by default")
	}
}

// TestGetConfigForClientGetsDefaults: the client says which server it wants, RFC 9113, section 9.2.
func TestGetConfigForClientGetsDefaults(t *testing.T) {
	id := newIdentity(t, nil, "server.test")
	refused := errors.New("refused")
	server := NewTLS(&tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		switch hello.ServerName {
		case "server.test":
			return &tls.Config{Certificates: []tls.Certificate{id.cert}}, nil
		case "refused.test":
			return nil, refused
		}
		return nil, nil
	}})
	c, s := connect(t, NewClientTLSFromCert(id.roots, "server.test"), server, "")
	if c.err != nil || s.err != nil || c.info.(TLSInfo).State.NegotiatedProtocol != "h2" {
		t.Errorf("client %v, server %v", c.err, s.err)
	}
	if _, s := connect(t, NewClientTLSFromCert(id.roots, "refused.test"), server, ""); !errors.Is(s.err, refused) {
		t.Errorf("server: %v", s.err)
	}
	if _, s := connect(t, NewClientTLSFromCert(id.roots, "default.test"), server, ""); s.err == nil {
		t.Error("no certificate, no error")
	}
}

// TestOldVersionIsRefused: RFC 9113, section 9.2, for both roles.
func TestOldVersionIsRefused(t *testing.T) {
	id := newIdentity(t, nil, "server.test")
	oldServer := foreign(&tls.Config{Certificates: []tls.Certificate{id.cert}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, NextProtos: []string{"h2"}})
	if c, s := connect(t, NewClientTLSFromCert(id.roots, "server.test"), oldServer, ""); c.err == nil || s.err == nil {
		t.Errorf("an old server: client %v, server %v", c.err, s.err)
	}
	old := foreign(&tls.Config{RootCAs: id.roots, ServerName: "server.test", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, NextProtos: []string{"h2"}})
	if c, s := connect(t, old, NewServerTLSFromCert(&id.cert), ""); c.err == nil || s.err == nil {
		t.Errorf("client %v, server %v", c.err, s.err)
	}
}

func TestHandshakeEndsWithContext(t *testing.T) {
	for name, ctx := range map[string]func() (context.Context, context.CancelFunc){
		"cancelled": func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
		"deadline": func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, silent := net.Pipe()
			defer silent.Close()
			ctx, cancel := ctx()
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, _, err := NewTLS(nil).ClientHandshake(ctx, "server.test", client)
				done <- err
			}()
			if name == "cancelled" {
				if _, err := silent.Read(make([]byte, 1)); err != nil { // it has begun
					t.Fatal(err)
				}
				cancel()
			}
			if err := <-done; !errors.Is(err, ctx.Err()) {
				t.Errorf("%v, want %v", err, ctx.Err())
			}
			if _, err := client.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the connection is open: %v", err)
			}
		})
	}
}

func TestFailedServerHandshakeCloses(t *testing.T) {
	id := newIdentity(t, nil, "server.test")
	client, server := net.Pipe()
	go func() {
		_, _ = client.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) // plaintext by mistake
		_, _ = io.Copy(io.Discard, client)
	}()
	_, _, err := NewServerTLSFromCert(&id.cert).ServerHandshake(server)
	if err == nil {
		t.Error("plaintext passes")
	}
	if _, err := server.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the connection is open: %v", err)
	}
}

func TestFiles(t *testing.T) {
	id := newIdentity(t, nil, "server.test")
	cert, key := id.files(t)
	server, err := NewServerTLSFromFile(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	client, err := NewClientTLSFromFile(cert, "server.test")
	if err != nil {
		t.Fatal(err)
	}
	if c, s := connect(t, client, server, ""); c.err != nil || s.err != nil {
		t.Errorf("client %v, server %v", c.err, s.err)
	}
	if _, err := NewClientTLSFromFile(key, ""); err == nil {
		t.Error("a key passes as certificate")
	}
	if _, err := NewClientTLSFromFile(cert+".none", ""); err == nil {
		t.Error("a missing file passes")
	}
	if _, err := NewServerTLSFromFile(key, cert); err == nil {
		t.Error("exchanged files pass")
	}
}
