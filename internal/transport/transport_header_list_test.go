// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestNoHeaderList: a limit of 0 is announced, and is one.
func TestNoHeaderList(t *testing.T) {
	zero := uint32(0)
	cfg := ServerConfig{Tuning: Tuning{MaxHeaderListSize: &zero}}
	t.Run("client", func(t *testing.T) {
		s := startServer(t, "tcp", cfg, echoUnary)
		c, _ := s.dial(nil)
		_, err := unary(t.Context(), c, nil)
		if status.Code(err) != codes.Internal && status.Code(err) != codes.ResourceExhausted {
			t.Errorf("the call ends with %v", err)
		}
	})
	t.Run("raw", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := startServer(t, "memory", cfg, echoUnary)
			p := rawClient(t, s)
			p.write(headers(true, requestFields))
			if got := p.answer(); got.fields[":status"] != "431" {
				t.Errorf("the answer is %v", got)
			}
		})
	})
}
