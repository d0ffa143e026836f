// SPDX-License-Identifier: Apache-2.0

// Package peertest tests that a worker of another implementation does what `bench peers`
// orders.
package peertest

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/benchmark/internal/certs"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/peer"
	"google.golang.org/grpc/benchmark/internal/sample"
)

// Run orders each kind of load once with each kind of security, and looks at what was counted.
func Run(t *testing.T, i peer.Implementation, securities ...string) {
	for _, security := range securities {
		for _, load := range []ops.Load{
			{Kind: ops.Unary, Callers: 4, Size: 128},
			{Kind: ops.Chat, Callers: 4, Size: 1 << 10},
			{Kind: ops.Pull, Callers: 1, Size: 1 << 20},
			{Kind: ops.Push, Callers: 1, Size: 1 << 20},
		} {
			t.Run(load.Kind+"/"+security, func(t *testing.T) { measure(t, i, security, load) })
		}
	}
}

func measure(t *testing.T, i peer.Implementation, security string, load ops.Load) {
	order := ops.Serve{Link: ops.Link{Protocol: ops.GRPC, Network: ops.TCP, Security: security}}
	if security == ops.TLS {
		var err error
		if order.Cert, order.Key, err = certs.New(); err != nil {
			t.Fatal(err)
		}
	}
	server, client := start(t, i), start(t, i)
	open := ops.Open{Link: order.Link, Served: call[ops.Served](t, server, ops.OpServe, order), Connections: 2, Calls: 1, MessageSize: 64}
	if n := call[ops.Opened](t, client, ops.OpOpen, open).Connections; n != 2 {
		t.Errorf("%d connections are open, want 2", n)
	}
	if n := call[ops.Answered](t, client, ops.OpCallAll, ops.CallAll{}).Calls; n != 2 {
		t.Errorf("%d connections answered, want 2", n)
	}
	if m := call[sample.Memory](t, client, ops.OpSettle, nil); m.RSS == 0 {
		t.Error("no memory is counted")
	}
	call[ops.Nothing](t, client, ops.OpLoad, load)

	got := call[ops.Measured](t, client, ops.OpWindow, ops.Window{Duration: 300 * time.Millisecond})
	served := call[sample.Counters](t, server, ops.OpCounters, nil).Served
	least := got.Calls
	if load.Kind == ops.Push { // what is on its way is counted by the client alone
		least = 1
	}
	if got.Calls == 0 || served < least {
		t.Errorf("%d calls or messages were counted, %d were served", got.Calls, served)
	}
	if m := call[sample.Memory](t, server, ops.OpResident, nil); m.RSS == 0 {
		t.Error("no memory is counted while it is busy")
	}
}

// process is a worker that runs in this process.
type process struct {
	enc *json.Encoder
	dec *json.Decoder
}

func start(t *testing.T, i peer.Implementation) process {
	orders, in := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- peer.Run(context.Background(), i, orders, answers) }()
	t.Cleanup(func() {
		_ = in.Close() // always nil
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return process{json.NewEncoder(in), json.NewDecoder(out)}
}

func call[R any](t *testing.T, p process, op string, args any) (result R) {
	t.Helper()
	if err := p.enc.Encode(map[string]any{"op": op, "args": args}); err != nil {
		t.Fatal(err)
	}
	for {
		var r struct {
			Done   bool
			Error  string
			Result json.RawMessage
		}
		if err := p.dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if !r.Done {
			continue
		}
		if r.Error != "" {
			t.Fatalf("%s: %s", op, r.Error)
		}
		if err := json.Unmarshal(r.Result, &result); err != nil {
			t.Fatal(err)
		}
		return result
	}
}
