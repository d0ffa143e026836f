// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"net"
	"testing"
)

func TestClientTrustsServer(t *testing.T) {
	cert, key, err := New()
	if err != nil {
		t.Fatal(err)
	}
	server, err := Server(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	client, err := Client(cert)
	if err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- tls.Server(a, server).Handshake() }()
	if err := tls.Client(b, client).Handshake(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRefusesWhatIsNoCertificate(t *testing.T) {
	if _, err := Server("no certificate", "no key"); err == nil {
		t.Error("a server has no certificate")
	}
	if _, err := Client("no certificate"); err == nil {
		t.Error("a client trusts nobody")
	}
}
