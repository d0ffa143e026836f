// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"google.golang.org/grpc/interop/testcerts"
)

// certificates are what a server shows and a client trusts.
type certificates struct {
	testcerts.Files
	serverName string
}

// target is a server's address.
type target struct {
	host string
	port int
	// certs are nil in plain text.
	certs *certificates
}

func (t target) addr() string { return t.host + ":" + strconv.Itoa(t.port) }
