// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc/benchmark/internal/cloud"
	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// TestMain makes this program a worker when a test starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv("WORKER_TEST_WORKER") == "" {
		os.Exit(m.Run())
	}
	if err := Run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func startPair(t *testing.T, order ops.Serve) *workers.Pair {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	impl := workers.Impl{Name: "test", Path: self, Env: []string{"WORKER_TEST_WORKER=1", "GORACE=atexit_sleep_ms=0"}}
	pair, err := workers.StartPair(context.Background(), impl, order)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pair.Close(); err != nil {
			t.Error(err)
		}
	})
	return pair
}

// needALTS skips a test of a link that cannot be had here.
func needALTS(t *testing.T, link ops.Link) {
	t.Helper()
	if link.Security != ops.ALTS || link.Protocol == ops.Raw {
		return
	}
	if err := cloud.Check(); err != nil {
		t.Skip(err)
	}
}

var links = map[string]ops.Link{
	"tcp":  {Protocol: ops.GRPC, Network: ops.TCP, Security: ops.Insecure},
	"tls":  {Protocol: ops.GRPC, Network: ops.TCP, Security: ops.TLS},
	"alts": {Protocol: ops.GRPC, Network: ops.TCP, Security: ops.ALTS},
	"unix": {Protocol: ops.GRPC, Network: ops.Unix, Security: ops.Insecure},
}

func TestIdleConnectionsAnswerAgain(t *testing.T) {
	for name, link := range links {
		t.Run(name, func(t *testing.T) {
			needALTS(t, link)
			const n = 20
			pair := startPair(t, ops.Serve{Link: link})
			_, err := pair.Open(ops.Open{Connections: n, Calls: 2, MessageSize: 20_000, Watch: true}, nil)
			if err != nil {
				t.Fatal(err)
			}
			server, client, err := workers.Both[sample.Memory](pair, ops.OpSettle, ops.Nothing{})
			if err != nil {
				t.Fatal(err)
			}
			if server.RSS == 0 || client.Heap == 0 || server.Goroutines < 1 {
				t.Errorf("nothing was measured: %+v, %+v", server, client)
			}
			args := ops.CallAll{Callers: 4, Publish: true}
			answered, err := control.Call[ops.Answered](pair.Client, ops.OpCallAll, args, nil)
			if err != nil || answered.Calls != n || answered.Events != n || answered.Latency.P50 == 0 {
				t.Errorf("called on all: %+v, %v", answered, err)
			}
		})
	}
}

func TestLoads(t *testing.T) {
	raw := ops.Link{Protocol: ops.Raw, Network: ops.TCP, Security: ops.Insecure}
	pings := ops.Link{Protocol: ops.Pings, Network: ops.TCP, Security: ops.Insecure}
	bare := ops.Link{Protocol: ops.Bare, Network: ops.TCP, Security: ops.Insecure}
	rawALTS := ops.Link{Protocol: ops.Raw, Network: ops.TCP, Security: ops.ALTS}
	rawTLS := ops.Link{Protocol: ops.Raw, Network: ops.TCP, Security: ops.TLS}
	for name, test := range map[string]struct {
		order ops.Serve
		load  ops.Load
	}{
		"unary":      {ops.Serve{Link: links["tcp"]}, ops.Load{Kind: ops.Unary, Callers: 8, Size: 128}},
		"unary tls":  {ops.Serve{Link: links["tls"]}, ops.Load{Kind: ops.Unary, Callers: 8, Size: 8 << 10}},
		"sparse":     {ops.Serve{Link: links["tcp"]}, ops.Load{Kind: ops.Unary, Callers: 8, Size: 128, Every: 10 * time.Millisecond}},
		"sparse raw": {ops.Serve{Link: raw}, ops.Load{Kind: ops.PingPong, Callers: 8, Size: 128, Every: 10 * time.Millisecond, Bursts: true}},
		"pings":      {ops.Serve{Link: pings}, ops.Load{Kind: ops.Ping, Callers: 8, Every: 10 * time.Millisecond}},
		"rate":       {ops.Serve{Link: links["unix"]}, ops.Load{Kind: ops.Unary, Callers: 8, Size: 128, Rate: 500}},
		"chat":       {ops.Serve{Link: links["tcp"]}, ops.Load{Kind: ops.Chat, Callers: 8, Size: 1 << 10}},
		"pull":       {ops.Serve{Link: links["tcp"]}, ops.Load{Kind: ops.Pull, Callers: 1, Size: 1 << 20}},
		"push":       {ops.Serve{Link: links["tls"]}, ops.Load{Kind: ops.Push, Callers: 1, Size: 1 << 20}},
		"beside":     {ops.Serve{Link: links["tcp"]}, ops.Load{Kind: ops.Unary, Callers: 2, Size: 128, Beside: 1 << 20}},
		"far":        {ops.Serve{Link: links["tcp"], Delay: time.Millisecond}, ops.Load{Kind: ops.Unary, Callers: 2, Size: 128}},
		"ping-pong":  {ops.Serve{Link: raw}, ops.Load{Kind: ops.PingPong, Callers: 2, Size: 128}},
		"bare":       {ops.Serve{Link: bare}, ops.Load{Kind: ops.Unary, Callers: 8, Size: 8 << 10}},
		"pull alts":  {ops.Serve{Link: links["alts"]}, ops.Load{Kind: ops.Pull, Callers: 1, Size: 1 << 20}},
		"raw alts":   {ops.Serve{Link: rawALTS}, ops.Load{Kind: ops.PingPong, Callers: 2, Size: 20_000}},
		"raw stream": {ops.Serve{Link: rawTLS}, ops.Load{Kind: ops.Stream, Callers: 2, Size: 1 << 20}},
	} {
		t.Run(name, func(t *testing.T) {
			needALTS(t, test.order.Link)
			pair := startPair(t, test.order)
			if _, err := pair.Open(ops.Open{Connections: 2, Calls: 1}, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := control.Call[ops.Nothing](pair.Client, ops.OpLoad, test.load, nil); err != nil {
				t.Fatal(err)
			}
			window := ops.Window{Duration: time.Second}
			got, err := control.Call[ops.Measured](pair.Client, ops.OpWindow, window, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Calls == 0 || got.Latency.P99 < got.Latency.P50 || got.Used.Allocs == 0 && test.load.Kind == ops.Unary {
				t.Errorf("measured %+v", got)
			}
			server, err := control.Call[sample.Counters](pair.Server, ops.OpCounters, ops.Nothing{}, nil)
			if err != nil || server.Served == 0 && test.load.Kind != ops.Ping {
				t.Errorf("the server answered %d, %v", server.Served, err)
			}
		})
	}
}

func TestOrdersOutOfOrder(t *testing.T) {
	pair := startPair(t, ops.Serve{Link: links["tcp"]})
	for _, op := range []string{ops.OpCallAll, ops.OpLoad, ops.OpWindow} {
		if _, err := control.Call[ops.Nothing](pair.Client, op, ops.Nothing{}, nil); err == nil {
			t.Errorf("%s without connections is not an error", op)
		}
	}
}
