// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// The time limit of a handshake holds over each kind, also longer ones than a wrapper is
// tested in, and in the middle of either.
func TestHandshakeTimeout(t *testing.T) {
	config, _ := configs()
	t.Run("TLS", func(t *testing.T) {
		t.Parallel()
		handshakesEnd(t, credentials.NewTLS(config), "\x16\x03\x01\x02") // the beginning of a ClientHello
	})
	t.Run("HTTP2", func(t *testing.T) {
		t.Parallel()
		handshakesEnd(t, insecure.NewCredentials(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00") // and that of SETTINGS
	})
}

// handshakesEnd begins handshakes that don't go on.
func handshakesEnd(t *testing.T, creds credentials.TransportCredentials, begin string) {
	var running sync.WaitGroup
	for _, k := range allKinds() {
		if k.Secures || k.Name == "skips a header" { // they have limits of their own
			continue
		}
		running.Go(func() {
			t.Run(k.Name, func(t *testing.T) {
				lis, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				s := grpc.NewServer(grpc.Creds(creds), grpc.ConnectionTimeout(2500*time.Millisecond))
				done := make(chan struct{})
				go func() { defer close(done); s.Serve(k.Listen(lis)) }()
				defer func() { s.Stop(); <-done }()
				c, err := net.Dial("tcp", lis.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				c.SetReadDeadline(time.Now().Add(patience))
				for i := range len(begin) {
					io.WriteString(c, begin[i:i+1])
				}
				if _, err := io.ReadAll(c); err != nil && isTimeout(err) {
					t.Error("the server waits for the rest")
				}
			})
		})
	}
	running.Wait()
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}
