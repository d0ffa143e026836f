// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/wrappers"
	"google.golang.org/grpc/mem"
)

// mode is a way to run a connection.
type mode struct {
	version uint16
	release bool
	over    *wrappers.Kind // what is around its sockets; nil: nothing
}

func (m mode) String() string {
	if m.over != nil {
		return m.over.Name
	}
	return fmt.Sprintf("%s,release=%t", strings.ReplaceAll(tls.VersionName(m.version), " ", ""), m.release)
}

func (m mode) config() *tls.Config {
	c := testConfig().Clone()
	c.MinVersion, c.MaxVersion = m.version, m.version
	return c
}

func forEachMode(t *testing.T, f func(t *testing.T, m mode)) {
	t.Helper()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, release := range []bool{true, false} {
			if release && !releasable() {
				continue
			}
			m := mode{version: version, release: release}
			t.Run(m.String(), func(t *testing.T) { f(t, m) })
		}
	}
}

// ownTimes are kinds whose reads don't end by the deadlines that they are told.
var ownTimes = map[string]bool{"reads ahead": true, "idle timeout": true}

// forEachKind is forEachMode, and does the same over each kind of wrapper that New takes.
func forEachKind(t *testing.T, f func(t *testing.T, m mode)) {
	t.Helper()
	forEachMode(t, f)
	for i, k := range wrappers.Kinds() {
		if testing.Short() && i%4 > 0 {
			continue
		}
		a, _ := sockets(t, "tcp")
		if s := readyreader.NewSocket(k.Server(a)); k.Secures || ownTimes[k.Name] || !s.Can().Has(readyreader.OnSocket) {
			continue
		}
		m := mode{version: tls.VersionTLS13, release: releasable(), over: &k}
		t.Run(m.String(), func(t *testing.T) { f(t, m) })
	}
}

// sockets returns two connected sockets with what is around them.
func (m mode) sockets(t testing.TB, network string) (a, b net.Conn) {
	t.Helper()
	if m.over != nil {
		network = "tcp"
	}
	a, b = sockets(t, network)
	for _, c := range []net.Conn{a, b} {
		narrow(c)
	}
	return m.wrapClient(a), m.wrapServer(b)
}

// narrow bounds what the system buffers of c, which for TCP may be more than any test sends.
func narrow(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetReadBuffer(64 << 10)
		tcp.SetWriteBuffer(64 << 10)
	}
}

func (m mode) wrapClient(c net.Conn) net.Conn {
	if m.over == nil {
		return c
	}
	return m.over.Client(c)
}

func (m mode) wrapServer(c net.Conn) net.Conn {
	if m.over == nil {
		return c
	}
	return m.over.Server(c)
}

// testConfig is for both sides, who verify each other.
var testConfig = sync.OnceValue(func() *tls.Config { return newConfig("server.test") })

func newConfig(organization string) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{Organization: []string{organization}},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
		DNSNames:              []string{"server.test"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Config{
		Certificates:                []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}},
		RootCAs:                     roots,
		ClientCAs:                   roots,
		ClientAuth:                  tls.RequireAndVerifyClientCert,
		ServerName:                  "server.test",
		NextProtos:                  []string{"h2"},
		DynamicRecordSizingDisabled: true,
	}
}

// sockets returns two connected sockets that are closed with the test.
func sockets(t testing.TB, network string) (a, b net.Conn) {
	t.Helper()
	return testutils.Sockets(t, network)
}

// secure is what all kinds of TLS connection here have.
type secure interface {
	net.Conn
	HandshakeContext(context.Context) error
	ConnectionState() tls.ConnectionState
	CloseWrite() error
}

func newConn(t testing.TB, raw net.Conn, config *tls.Config, server, release bool) *Conn {
	t.Helper()
	if m, ok := raw.(*memSocket); ok {
		c := &Conn{raw: m, sock: m, release: release && releasable()}
		c.rests = c.release && restable()
		c.start(config, server)
		return c
	}
	c, ok := New(raw, config, Options{Server: server, Release: release, Rest: release})
	if !ok {
		t.Skip("sockets can't be read without waiting here")
	}
	return c
}

// shake runs the handshake of both sides.
func shake(t testing.TB, client, server secure) {
	t.Helper()
	if err := tryShake(client, server); err != nil {
		t.Fatal(err)
	}
}

func tryShake(client, server secure) error {
	done := make(chan error, 1)
	go func() {
		err := server.HandshakeContext(context.Background())
		if err != nil {
			server.Close()
		}
		done <- err
	}()
	err := client.HandshakeContext(context.Background())
	if err != nil {
		client.Close()
	}
	if serr := <-done; serr != nil {
		return errors.Join(err, fmt.Errorf("server: %w", serr))
	}
	return err
}

// pair returns two connections over a socket.
func pair(t testing.TB, network string, m mode) (client, server *Conn) {
	t.Helper()
	a, b := m.sockets(t, network)
	return over(t, a, b, m)
}

// memPair returns two connections over memory.
func memPair(t testing.TB, m mode) (client, server *Conn, a, b *memSocket) {
	t.Helper()
	a, b = newMemSockets()
	client, server = over(t, a, b, m)
	return client, server, a, b
}

func over(t testing.TB, a, b net.Conn, m mode) (client, server *Conn) {
	t.Helper()
	client = newConn(t, a, m.config(), false, m.release)
	server = newConn(t, b, m.config(), true, m.release)
	t.Cleanup(func() { client.Close(); server.Close() })
	shake(t, client, server)
	return client, server
}

func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i) ^ byte(i>>8) ^ byte(i>>16)
	}
	return p
}

// send writes p in the way of a connection that has better things to do than wait.
func send(c *Conn, p []byte) error {
	n, err := c.TryWrite(p)
	if err == readyreader.ErrWouldBlock {
		_, err = c.Write(p[n:])
	}
	return err
}

// receive reads n bytes by ReadOnReady.
func receive(c *Conn, n int) ([]byte, error) {
	var got []byte
	for len(got) < n {
		buf, k, err := c.ReadOnReady(32<<10, mem.DefaultBufferPool())
		if err != nil {
			return got, err
		}
		got = append(got, (*buf)[:k]...)
		mem.DefaultBufferPool().Put(buf)
	}
	return got, nil
}

// exchange sends p from one to the other.
func exchange(t testing.TB, from, to secure, p []byte) {
	t.Helper()
	sent := make(chan error, 1)
	go func() {
		if c, ok := from.(*Conn); ok {
			sent <- send(c, p)
			return
		}
		_, err := from.Write(p)
		sent <- err
	}()
	var got []byte
	var err error
	if c, ok := to.(*Conn); ok {
		got, err = receive(c, len(p))
	} else {
		got = make([]byte, len(p))
		_, err = io.ReadFull(to, got)
	}
	if err != nil {
		t.Fatalf("after %d of %d bytes: %v", len(got), len(p), err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, p) {
		t.Fatalf("%d bytes sent, others received", len(p))
	}
}

// wantIdle checks that c has nothing to read, and holds nothing when it rests.
func wantIdle(t testing.TB, c *Conn) {
	t.Helper()
	// Of a wrapper that nobody has waited for yet nothing is known: it says so by a deadline's error.
	if _, err := c.TryReadInto(make([]byte, 1)); !readyreader.Again(err) {
		t.Fatalf("reading without input: %v", err)
	}
	if c.usedUp() != c.release {
		t.Errorf("used up: %v, where memory is given back: %v", c.usedUp(), c.release)
	}
	c.ReleaseIdle()
	if c.intake.Memory() != 0 || c.out.p != nil {
		t.Errorf("a buffer is held: %v %v", c.intake.Memory() != 0, c.out.p != nil)
	}
}
