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
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/transport"
)

// tlsPreface is a server of its own, and a client of it that has said what HTTP/2 begins with.
func tlsPreface(t *testing.T) (raw net.Conn, client *tls.Conn) {
	cert, _ := testutils.Certificate(t)
	addr, stop := serve(t, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	t.Cleanup(stop)
	raw, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	client = tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if _, err := io.WriteString(client, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	return raw, client
}

// A connection that has parked with a part of a TLS record in hand holds that, and says so.
func TestPartialRecords(t *testing.T) {
	needsParking(t)
	nc, _ := tlsPreface(t)
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

// One that can't park, as it is in the middle of a frame, holds and says the same, also in the
// total of the process.
func TestPartialRecordsWithinFrame(t *testing.T) {
	needsParking(t)
	nc, client := tlsPreface(t)
	waitFor(t, "the connection", func() bool { return footprint.Read().Connections == 1 })
	if _, err := io.WriteString(client, "\x00\x00\x08\x06"); err != nil { // of a PING
		t.Fatal(err)
	}
	before := transport.BytesHeld()
	const part = 10_000
	if _, err := nc.Write(append([]byte("\x17\x03\x03\x40\x10"), make([]byte, part/2)...)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the first half to show", func() bool { return transport.BytesHeld()-before >= part/2 })
	if _, err := nc.Write(make([]byte, part/2)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the rest to show", func() bool {
		held := transport.BytesHeld() - before
		return held >= part && held <= 2*part && footprint.Read().BytesHeld >= part
	})
	if err := nc.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end", func() bool { return footprint.Read().Connections == 0 && transport.BytesHeld() == 0 })
}
