// SPDX-License-Identifier: Apache-2.0

package victim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts"
	"google.golang.org/grpc/credentials/insecure"

	"google.golang.org/grpc/attack/internal/orders"
)

// serverCreds secure a server; the certificate is new each time.
func serverCreds(o orders.Serve) (credentials.TransportCredentials, error) {
	switch o.Security {
	case orders.TLS:
		cert, err := newCertificate()
		if err != nil {
			return nil, err
		}
		return credentials.NewServerTLSFromCert(&cert), nil
	case orders.ALTS:
		options := alts.DefaultServerOptions()
		options.HandshakerServiceAddress = o.Handshaker
		return alts.NewServerCreds(options), nil
	}
	return insecure.NewCredentials(), nil
}

// clientCreds secure a channel. Nobody checks certificates: who the peer is does not
// matter here.
func clientCreds(s orders.Security, handshaker string) credentials.TransportCredentials {
	switch s {
	case orders.TLS:
		return credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	case orders.ALTS:
		options := alts.DefaultClientOptions()
		options.HandshakerServiceAddress = handshaker
		return alts.NewClientCreds(options)
	}
	return insecure.NewCredentials()
}

// dial opens a channel with the options that a program has when it sets none.
func dial(addr string, s orders.Security, handshaker string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return dialTarget("passthrough:///"+addr, s, handshaker, more...)
}

func dialTarget(target string, s orders.Security, handshaker string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(target, append(more, grpc.WithTransportCredentials(clientCreds(s, handshaker)))...)
}

// dialWork opens a channel for work.
func dialWork(o orders.Work) (*grpc.ClientConn, error) {
	here := strings.NewReplacer(orders.Here, o.Addr)
	var more []grpc.DialOption
	if o.Wrapped {
		more = append(more, grpc.WithContextDialer(dialWrapped))
	}
	if o.Config != "" {
		more = append(more, grpc.WithDefaultServiceConfig(here.Replace(o.Config)))
	}
	if o.Target != "" {
		return dialTarget(here.Replace(o.Target), o.Security, o.Handshaker, more...)
	}
	return dial(o.Addr, o.Security, o.Handshaker, more...)
}

func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "attack.test"},
		DNSNames:     []string{"attack.test"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
