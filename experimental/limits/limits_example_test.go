// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/limits"
)

// A server that takes 10,000 connections, a hundred of each address, and 2,000 RPCs at a time; but
// health checks always.
func Example() {
	limiter := limits.New(limits.Limits{
		Connections:           10_000,
		ConnectionsPerAddress: 100,
		RPCs:                  2_000,
		Exempt: func(method string) bool {
			return strings.HasPrefix(method, "/grpc.health.v1.Health/")
		},
	})
	server := grpc.NewServer(limiter.Option())
	defer server.Stop()

	fmt.Println(limiter.Usage().RefusedRPCs)
	// Output: 0
}
