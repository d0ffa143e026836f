// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"testing"
	"time"

	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
)

func TestEpoll(t *testing.T) {
	pair := startPair(t, ops.Serve{Link: ops.Link{Protocol: ops.Epoll, Network: ops.TCP, Security: ops.Insecure}})
	if _, err := pair.Open(ops.Open{Connections: 20}, nil); err != nil {
		t.Fatal(err)
	}
	load := ops.Load{Kind: ops.PingPong, Callers: 8, Size: 128, Every: 10 * time.Millisecond}
	if _, err := control.Call[ops.Nothing](pair.Client, ops.OpLoad, load, nil); err != nil {
		t.Fatal(err)
	}
	got, err := control.Call[ops.Measured](pair.Client, ops.OpWindow, ops.Window{Duration: time.Second}, nil)
	if err != nil || got.Calls == 0 {
		t.Fatalf("measured %+v, %v", got, err)
	}
	server, err := control.Call[sample.Counters](pair.Server, ops.OpCounters, ops.Nothing{}, nil)
	if err != nil || server.Served < got.Calls {
		t.Errorf("the server answered %d, %v", server.Served, err)
	}
}
