// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/peer/peertest"
)

func TestWorker(t *testing.T) { peertest.Run(t, implementation, ops.Insecure) }
