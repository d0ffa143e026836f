// SPDX-License-Identifier: Apache-2.0

package attacker

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials/alts"

	"google.golang.org/grpc/attack/internal/orders"
)

// security is how the attacker's ends of connections are secured.
type security struct {
	kind       orders.Security
	handshaker string // address of the ALTS handshaker service
}

// client does the handshake of a connection to the victim.
func (s security) client(ctx context.Context, nc net.Conn) (net.Conn, error) {
	switch s.kind {
	case orders.TLS:
		var log keyLog
		tc := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, KeyLogWriter: &log})
		if err := tc.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		return takeOver(tc, nc, &log, "CLIENT_TRAFFIC_SECRET_0")
	case orders.ALTS:
		options := alts.DefaultClientOptions()
		options.HandshakerServiceAddress = s.handshaker
		ac, _, err := alts.NewClientCreds(options).ClientHandshake(ctx, "attack.test", nc)
		return over(ac, nc), err
	}
	return nc, nil
}

// server does the handshake of a connection from the victim.
func (s security) server(ctx context.Context, nc net.Conn) (net.Conn, error) {
	switch s.kind {
	case orders.TLS:
		cert, err := certificate()
		if err != nil {
			return nil, err
		}
		var log keyLog
		tc := tls.Server(nc, &tls.Config{
			Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}, KeyLogWriter: &log,
			SessionTicketsDisabled: true, // they would be records that were not made here
		})
		if err := tc.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		return takeOver(tc, nc, &log, "SERVER_TRAFFIC_SECRET_0")
	case orders.ALTS:
		options := alts.DefaultServerOptions()
		options.HandshakerServiceAddress = s.handshaker
		creds := alts.NewServerCreds(options)
		ac, _, err := creds.ServerHandshake(nc)
		return over(ac, nc), err
	}
	return nc, nil
}

// layered is a connection that says what lies below it.
type layered struct {
	net.Conn
	below net.Conn
}

func over(nc, below net.Conn) net.Conn { return layered{Conn: nc, below: below} }

// NetConn is what lies below.
func (l layered) NetConn() net.Conn { return l.below }

// certificate is the one that attackers of clients have; nobody checks it.
var certificate = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
})
