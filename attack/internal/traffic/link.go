// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// The links there are.
const (
	Plain = "plain"
	Unix  = "unix"
	TLS   = "tls"
	ALTS  = "alts"
)

// Patience is how long a call may take: on a machine that does much else, under the race
// detector, but not stuck.
const Patience = 2 * time.Minute

// Link is a way between clients and a server: two servers that are the same, but to one of
// them the sockets are cut.
type Link struct {
	network        string
	client, server credentials.TransportCredentials
}

// NewLink returns the link of a name. handshaker is the address of the ALTS handshaker service.
func NewLink(name, handshaker string) (Link, error) {
	l := Link{network: "tcp", client: insecure.NewCredentials(), server: insecure.NewCredentials()}
	switch name {
	case Unix:
		l.network = "unix"
	case TLS:
		cert, err := newCertificate()
		if err != nil {
			return l, err
		}
		l.server = credentials.NewServerTLSFromCert(&cert)
		l.client = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	case ALTS:
		client, server := alts.DefaultClientOptions(), alts.DefaultServerOptions()
		client.HandshakerServiceAddress, server.HandshakerServiceAddress = handshaker, handshaker
		l.client, l.server = alts.NewClientCreds(client), alts.NewServerCreds(server)
	}
	return l, nil
}

// Serve starts a server whose connections are drained every few seconds, as behind a load
// balancer: no client may notice.
func (l Link) Serve(dir string, s *Sockets) (stop func(), addr string, err error) {
	addr = "127.0.0.1:0"
	if l.network == "unix" {
		addr = filepath.Join(dir, "socket")
	}
	lis, err := net.Listen(l.network, addr)
	if err != nil {
		return nil, "", err
	}
	addr = lis.Addr().String()
	if s != nil {
		lis = listener{lis, s}
	}
	server := grpc.NewServer(grpc.Creds(l.server), grpc.KeepaliveParams(keepalive.ServerParameters{
		MaxConnectionAge: 3 * time.Second, MaxConnectionAgeGrace: 2 * Patience, // no call is to be ended by it
	}))
	server.RegisterService(&service, nil)
	go func() { _ = server.Serve(lis) }() // it ends with stop
	return server.Stop, addr, nil
}

// Dial opens a channel. The sockets it uses are s's, if that is not nil.
func (l Link) Dial(addr string, s *Sockets) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(l.client),
		grpc.WithDefaultServiceConfig(retries),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: 50 * time.Millisecond},
			MinConnectTimeout: 20 * time.Second,
		}),
	}
	target := "passthrough:///" + addr
	if l.network == "unix" {
		target = "unix:" + addr
	}
	if s != nil {
		options = append(options, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return s.dial(ctx, l.network, addr)
		}))
	}
	return grpc.NewClient(target, options...)
}

func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"stress.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
