// SPDX-License-Identifier: Apache-2.0

//go:build grpctrace

package grpc

import "google.golang.org/grpc/internal/nettrace"

func init() {
	nettrace.Register(func() bool { return EnableTracing })
}
