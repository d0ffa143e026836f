// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log"
	"math/big"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/peer"
)

// certificates makes an authority, and a certificate for localhost that it has signed, for servers
// and clients.
func certificates() (cert tls.Certificate, authority *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	year := time.Hour * 24 * 365
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-year), NotAfter: time.Now().Add(year),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	ca, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	if err != nil {
		log.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), key)
	if err != nil {
		log.Fatal(err)
	}
	authority = x509.NewCertPool()
	authority.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority
}

// The server has a certificate; the client trusts the authority that signed it. With certificates
// of public authorities RootCAs is left out.
func Example_tls() {
	cert, authority := certificates()
	target, stop := start(grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	defer stop()

	cc, err := grpc.NewClient(target, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: authority})))
	if err != nil {
		log.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := within()
	defer cancel()
	var server peer.Peer
	if _, err := pb.NewTestServiceClient(cc).UnaryCall(ctx, say("hi"), grpc.Peer(&server)); err != nil {
		log.Fatal(err)
	}
	info := server.AuthInfo.(credentials.TLSInfo)
	fmt.Println(tls.VersionName(info.State.Version), info.State.NegotiatedProtocol)
	// Output: TLS 1.3 h2
}

// whoever answers with the name in the client's certificate.
type whoever struct{ shouter }

func (whoever) UnaryCall(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	p, _ := peer.FromContext(ctx)
	chain := p.AuthInfo.(credentials.TLSInfo).State.VerifiedChains[0]
	return &pb.SimpleResponse{Payload: payload(chain[0].DNSNames[0])}, nil
}

// Both sides have a certificate, and both check the other's.
func Example_mutualTLS() {
	cert, authority := certificates()
	clientCert := cert // in earnest one of its own
	target, stop := startService(whoever{}, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{cert},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    authority,
	})))
	defer stop()
	cc, err := grpc.NewClient(target, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs:      authority,
		Certificates: []tls.Certificate{clientCert},
	})))
	if err != nil {
		log.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := within()
	defer cancel()
	r, err := pb.NewTestServiceClient(cc).UnaryCall(ctx, say("who am I?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text(r))
	// Output: localhost
}

// bearer is a token that is sent with each RPC. RequireTransportSecurity has it refused over plain connections.
type bearer string

func (t bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

func (bearer) RequireTransportSecurity() bool { return true }

// Credentials of an RPC, such as a token, are never sent without TLS if they ask for it.
func ExampleWithPerRPCCredentials() {
	target, stop := start()
	defer stop()
	client, done := dial(target) // without TLS
	defer done()
	ctx, cancel := within()
	defer cancel()
	_, err := client.UnaryCall(ctx, say("hi"), grpc.PerRPCCredentials(bearer("secret")))
	fmt.Println(err != nil)
	// Output: true
}
