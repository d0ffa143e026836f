// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"google.golang.org/grpc/interop/testcerts"
)

// certificates has the certificate and key of a server, and the authority that clients trust.
type certificates struct {
	testcerts.Files
	serverName string
}

// target is a server's address.
type target struct {
	host string
	port int
	// certs is nil for plaintext.
	certs *certificates
}

func (t target) addr() string { return t.host + ":" + strconv.Itoa(t.port) }
