// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"io"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// TestFirstMessageOfAnEndedStream: a program that makes a stream and sends a message learns of
// a server that would not have either from what it receives, however fast the server was.
func TestFirstMessageOfAnEndedStream(t *testing.T) {
	desc := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	for name, retries := range map[string][]grpc.DialOption{
		"with retries": nil, "without": {grpc.WithDisableRetry()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc := dialHealth(t, retries...)
				open := func() grpc.ClientStream {
					s, err := cc.NewStream(t.Context(), desc, "/none/None")
					if err != nil {
						t.Fatal(err)
					}
					synctest.Wait() // the stream is over
					return s
				}
				var m healthpb.HealthCheckRequest
				s := open()
				for i, want := range []error{nil, io.EOF, io.EOF} {
					if err := s.SendMsg(&m); err != want {
						t.Errorf("message %d: %v, want %v", i, err, want)
					}
				}
				if err := s.RecvMsg(&m); status.Code(err) != codes.Unimplemented {
					t.Errorf("RecvMsg: %v", err)
				}
				s = open()
				if err := s.RecvMsg(&m); status.Code(err) != codes.Unimplemented {
					t.Errorf("RecvMsg before SendMsg: %v", err)
				}
				if err := s.SendMsg(&m); err != io.EOF {
					t.Errorf("the first message, after the status: %v", err)
				}
			})
		})
	}
}
