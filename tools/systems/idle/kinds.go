// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop/testcerts"
)

// errNone says that a kind of connections does not exist on this system.
var errNone = errors.New("none here")

// limit bounds the time of a call.
const limit = time.Minute

// site has what all kinds use.
type site struct {
	dir            string
	server, client *tls.Config
	handshaker     string
}

func newSite(handshaker string) (*site, error) {
	dir, err := os.MkdirTemp("", "idle")
	if err != nil {
		return nil, err
	}
	s := &site{dir: dir, handshaker: handshaker}
	files, err := testcerts.Write(dir)
	if err != nil {
		return nil, err
	}
	cert, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(files.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	s.server = &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}
	s.client = &tls.Config{RootCAs: roots, ServerName: testcerts.ServerName, NextProtos: []string{"h2"}}
	return s, nil
}

// kind is a kind of connection.
type kind struct {
	name    string
	network string // "tcp" or "unix"
	creds   func(*site) pair[credentials.TransportCredentials]
	wrap    func(*site) pair[func(net.Conn) net.Conn]
}

// pair has a value for each side.
type pair[T any] struct{ server, client T }

var kinds = []kind{
	{name: "tcp", network: "tcp"},
	{name: "unix", network: "unix"},
	{name: "tls", network: "tcp", creds: withTLS},
	{name: "alts", network: "tcp", creds: withALTS},
	{name: "embedding-tcp", network: "tcp", wrap: both(func(c net.Conn) net.Conn { return embedding{c} })},
	{name: "own-tls", network: "tcp", wrap: ownTLS},
	{name: "reading-tcp", network: "tcp", wrap: both(metered)},
	{name: "reading-unix", network: "unix", wrap: both(metered)},
}

func withTLS(s *site) pair[credentials.TransportCredentials] {
	return pair[credentials.TransportCredentials]{credentials.NewTLS(s.server), credentials.NewTLS(s.client)}
}

func withALTS(s *site) pair[credentials.TransportCredentials] {
	server, client := alts.DefaultServerOptions(), alts.DefaultClientOptions()
	server.HandshakerServiceAddress, client.HandshakerServiceAddress = s.handshaker, s.handshaker
	return pair[credentials.TransportCredentials]{alts.NewServerCreds(server), alts.NewClientCreds(client)}
}

// embedding is a wrapper without a Read of its own.
type embedding struct{ net.Conn }

// meter is a wrapper with a Read of its own.
type meter struct {
	net.Conn
	bytes atomic.Int64
}

func metered(c net.Conn) net.Conn { return &meter{Conn: c} }

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.bytes.Add(int64(n))
	return n, err
}

func both(wrap func(net.Conn) net.Conn) func(*site) pair[func(net.Conn) net.Conn] {
	return func(*site) pair[func(net.Conn) net.Conn] { return pair[func(net.Conn) net.Conn]{wrap, wrap} }
}

// ownTLS returns wrappers with which the program puts TLS over its connections before gRPC gets
// them.
func ownTLS(s *site) pair[func(net.Conn) net.Conn] {
	return pair[func(net.Conn) net.Conn]{
		func(c net.Conn) net.Conn { return tls.Server(c, s.server) },
		func(c net.Conn) net.Conn { return tls.Client(c, s.client) },
	}
}

// hasALTS returns an error if ALTS does not work here. A handshake with a context that has ended
// shows that, because it checks the platform before anything else.
func (s *site) hasALTS() error {
	if s.handshaker == "" {
		return errors.New("no handshaker service")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	if _, _, err := withALTS(s).client.ClientHandshake(ctx, "", ours); errors.Is(err, alts.ErrUntrustedPlatform) {
		return err
	}
	return nil
}

func (k kind) listen(s *site) (net.Listener, error) {
	if k.name == "alts" {
		if err := s.hasALTS(); err != nil {
			return nil, fmt.Errorf("%w: %w", errNone, err)
		}
	}
	addr := "127.0.0.1:0"
	if k.network == "unix" {
		addr = filepath.Join(s.dir, k.name)
	}
	lis, err := listen(k.network, addr)
	if err != nil || k.wrap == nil {
		return lis, err
	}
	return wrapping{lis, k.wrap(s).server}, nil
}

// listen calls net.Listen. It returns errNone if that fails, because the system then does not
// have the kind of connections.
func listen(network, addr string) (net.Listener, error) {
	lis, err := net.Listen(network, addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNone, err)
	}
	return lis, nil
}

// wrapping is a listener whose connections are wrapped.
type wrapping struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (w wrapping) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
}

func (k kind) serverOptions(s *site) []grpc.ServerOption {
	if k.creds == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.Creds(k.creds(s).server)}
}

// connect returns a channel that is connected.
func (k kind) connect(s *site, addr string) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if k.creds != nil {
		creds = k.creds(s).client
	}
	opts := []grpc.DialOption{grpc.WithTransportCredentials(creds)}
	if k.network == "unix" || k.wrap != nil {
		opts = append(opts, grpc.WithContextDialer(k.dialer(s)))
	}
	cc, err := grpc.NewClient("passthrough:///"+addr, opts...)
	if err != nil {
		return nil, err
	}
	return cc, call(cc)
}

func (k kind) dialer(s *site) func(context.Context, string) (net.Conn, error) {
	wrap := func(c net.Conn) net.Conn { return c }
	if k.wrap != nil {
		wrap = k.wrap(s).client
	}
	return func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, k.network, addr)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
}

// call makes an RPC, to make sure that there is a connection and that it works.
func call(cc *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	return err
}
