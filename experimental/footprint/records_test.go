// SPDX-License-Identifier: Apache-2.0

package footprint_test

import (
	"crypto/tls"
	"io"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/internal/park"
)

// A connection that has parked with a part of a TLS record in hand holds that, and says so.
func TestPartialRecords(t *testing.T) {
	if !park.Supported() {
		t.Skip("nothing parks here")
	}
	cert, _ := certificate(t)
	addr, stop := serve(t, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	defer stop()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	client := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	if _, err := io.WriteString(client, preface); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the connection to park", func() bool { return footprint.Read().Parked == 1 })
	before := footprint.Read().BytesHeld
	const part = 10_000
	if _, err := nc.Write(append([]byte("\x17\x03\x03\x40\x10"), make([]byte, part)...)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the record to show", func() bool {
		held := footprint.Read().BytesHeld - before
		return held >= part && held <= 2*part && footprint.Read().Parked == 1
	})
	if err := nc.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end", func() bool { return footprint.Read().Connections == 0 })
	if held := footprint.Read().BytesHeld; held != 0 {
		t.Errorf("%d bytes are held by no connection", held)
	}
}
