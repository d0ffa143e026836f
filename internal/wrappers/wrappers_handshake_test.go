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
)

// The time limit of a handshake holds over each kind, also longer ones than a wrapper is
// tested in.
func TestHandshakeTimeout(t *testing.T) {
	var running sync.WaitGroup
	for _, k := range Kinds() {
		if k.Secures || k.Name == "skips a header" || k.Name == "idle timeout" { // they have limits of their own, or none
			continue
		}
		running.Go(func() {
			t.Run(k.Name, func(t *testing.T) {
				lis, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				config, _ := configs()
				s := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)), grpc.ConnectionTimeout(2500*time.Millisecond))
				done := make(chan struct{})
				go func() { defer close(done); s.Serve(k.Listen(lis)) }()
				defer func() { s.Stop(); <-done }()
				c, err := net.Dial("tcp", lis.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				c.SetReadDeadline(time.Now().Add(patience))
				for _, b := range []byte{22, 3, 1, 2} { // the beginning of a ClientHello
					c.Write([]byte{b})
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
