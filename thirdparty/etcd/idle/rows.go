// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	proxyproto "github.com/pires/go-proxyproto"
	"github.com/soheilhy/cmux"
	"go.etcd.io/etcd/server/v3/embed"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// row is a server, or a way to dial one.
type row struct {
	name   string
	serve  func() (addr string, err error)
	secure bool                    // the clients use TLS
	dialed func(net.Conn) net.Conn // what the clients make of their connections
	client bool                    // the clients are measured
}

var rows = []row{
	{name: "etcd", serve: func() (string, error) { return etcd(false, false) }},
	{name: "etcd, separate HTTP port", serve: func() (string, error) { return etcd(false, true) }},
	{name: "etcd, TLS", serve: func() (string, error) { return etcd(true, false) }, secure: true},
	{name: "etcd, TLS, separate", serve: func() (string, error) { return etcd(true, true) }, secure: true},
	{name: "exact", serve: func() (string, error) { return plain(same) }},
	{name: "exact, TLS", serve: func() (string, error) { return plain(same, grpc.Creds(serverTLS())) }, secure: true},
	{name: "LimitListener", serve: func() (string, error) { return plain(limited) }},
	{name: "LimitListener, TLS", serve: func() (string, error) { return plain(limited, grpc.Creds(serverTLS())) }, secure: true},
	{name: "cmux", serve: func() (string, error) { return plain(muxed) }},
	{name: "go-proxyproto", serve: func() (string, error) { return plain(proxied) }},
	{name: "go-proxyproto, with header", serve: func() (string, error) { return plain(proxied) }, dialed: withHeader},
	{name: "metering", serve: func() (string, error) { return plain(metered) }},
	{name: "metering, TLS", serve: func() (string, error) { return plain(metered, grpc.Creds(serverTLS())) }, secure: true},
	{name: "the program's tls.Conn", serve: func() (string, error) { return plain(ownTLS) }, secure: true},
	{name: "client, exact", serve: func() (string, error) { return plain(same) }, client: true},
	{name: "client, wrapping dialer", serve: func() (string, error) { return plain(same) }, client: true, dialed: func(c net.Conn) net.Conn { return &meter{Conn: c} }},
}

// plain serves health checks on what wrap makes of a listener.
func plain(wrap func(net.Listener) net.Listener, opts ...grpc.ServerOption) (string, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := grpc.NewServer(opts...)
	healthpb.RegisterHealthServer(s, health.NewServer())
	go func() { _ = s.Serve(wrap(lis)) }()
	return lis.Addr().String(), nil
}

func same(l net.Listener) net.Listener { return l }

func limited(l net.Listener) net.Listener { return netutil.LimitListener(l, 1_000_000) }

func muxed(l net.Listener) net.Listener {
	m := cmux.New(l)
	match := m.Match(cmux.HTTP2())
	go func() { _ = m.Serve() }()
	return match
}

func proxied(l net.Listener) net.Listener { return &proxyproto.Listener{Listener: l} }

func withHeader(c net.Conn) net.Conn {
	_, _ = proxyproto.HeaderProxyFromAddrs(1, c.LocalAddr(), c.RemoteAddr()).WriteTo(c)
	return c
}

func ownTLS(l net.Listener) net.Listener {
	cert, _ := identity()
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
}

// meter counts bytes.
type meter struct {
	net.Conn
	in, out atomic.Int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.in.Add(int64(n))
	return n, err
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.out.Add(int64(n))
	return n, err
}

type meterListener struct{ net.Listener }

func (m meterListener) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &meter{Conn: c}, nil
}

func metered(l net.Listener) net.Listener { return meterListener{l} }

// etcd serves a cluster of one, with listeners of its own.
func etcd(secure, separate bool) (string, error) {
	_, addr, err := startEtcd(secure, separate)
	return addr, err
}

func startEtcd(secure, separate bool) (e *embed.Etcd, addr string, err error) {
	dir, err := os.MkdirTemp("", "idle")
	if err != nil {
		return nil, "", err
	}
	c := embed.NewConfig()
	c.Dir = dir
	c.LogLevel = "fatal"
	c.UnsafeNoFsync = true
	scheme := "http"
	if secure {
		scheme = "https"
		c.ClientTLSInfo.CertFile, c.ClientTLSInfo.KeyFile = filepath.Join(dir, "cert"), filepath.Join(dir, "key")
		cert, key := identity()
		if err := os.WriteFile(c.ClientTLSInfo.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}), 0o600); err != nil {
			return nil, "", err
		}
		if err := os.WriteFile(c.ClientTLSInfo.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600); err != nil {
			return nil, "", err
		}
	}
	addr = freeAddr()
	c.ListenClientUrls = []url.URL{{Scheme: scheme, Host: addr}}
	c.AdvertiseClientUrls = c.ListenClientUrls
	if separate {
		c.ListenClientHttpUrls = []url.URL{{Scheme: scheme, Host: freeAddr()}}
	}
	c.ListenPeerUrls = []url.URL{{Scheme: "http", Host: freeAddr()}}
	c.AdvertisePeerUrls = c.ListenPeerUrls
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	e, err = embed.StartEtcd(c)
	if err != nil {
		return nil, "", err
	}
	<-e.Server.ReadyNotify()
	return e, addr, nil
}

// freeAddr is an address that nobody listened on a moment ago.
func freeAddr() string {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer lis.Close()
	return lis.Addr().String()
}

func serverTLS() credentials.TransportCredentials {
	cert, _ := identity()
	return credentials.NewServerTLSFromCert(&cert)
}

// trusting are credentials of a client that trusts everybody: both ends are ours.
func trusting() credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
}

// identity is a new certificate and its private key.
func identity() (tls.Certificate, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, private
}
