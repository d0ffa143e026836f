// SPDX-License-Identifier: Apache-2.0

package testcerts

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"testing"
)

func TestWriteMakesACertificateThatVerifies(t *testing.T) {
	f, err := Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(f.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("no certificate in the authority's file")
	}
	for _, name := range []string{ServerName, "localhost", "127.0.0.1", "::1"} {
		t.Run(name, func(t *testing.T) {
			a, b := net.Pipe()
			server := tls.Server(a, &tls.Config{Certificates: []tls.Certificate{cert}})
			client := tls.Client(b, &tls.Config{RootCAs: roots, ServerName: name})
			done := make(chan error, 1)
			go func() { done <- server.Handshake() }()
			if err := client.Handshake(); err != nil {
				t.Error("client:", err)
			}
			if err := <-done; err != nil {
				t.Error("server:", err)
			}
			a.Close()
			b.Close()
		})
	}
}
