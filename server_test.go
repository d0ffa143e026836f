// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"testing"
)

func TestServerUnary(t *testing.T) {
	c := connect(t, serve(t, newEcho()))
	for range 3 {
		c.unary(context.Background(), "hello").want(t, "hello")
	}
	c.unary(context.Background(), "").want(t, "")
}
