// SPDX-License-Identifier: Apache-2.0

//go:build !published

// Package handed has the streams of watchers held without a goroutine, on both sides, where
// the environment says so. The published module can't do that.
package handed

import (
	"context"
	"os"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/experimental/streams"
)

// env is the variable that turns it on, if it is not empty.
const env = "GRPC_BENCH_HANDED"

// On says that it is.
func On() bool { return os.Getenv(env) != "" }

// watcher is a server's end of a watch.
type watcher = streams.Server[streams.None, benchpb.State]

// Hub has the watchers of a server.
type Hub struct {
	calls streams.ServerCallbacks[streams.None, benchpb.State]

	mu  sync.Mutex
	all map[*watcher]struct{}
}

// NewHub returns one without watchers.
func NewHub() *Hub {
	h := &Hub{all: make(map[*watcher]struct{})}
	h.calls.OnDone = func(w *watcher, _ error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.all, w)
	}
	return h
}

// Watch takes a stream over, for its handler, and sends state.
func (h *Hub) Watch(state *benchpb.State, stream grpc.ServerStreamingServer[benchpb.State]) error {
	w, err := streams.ServerStreaming(stream, &h.calls, nil)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.all[w] = struct{}{}
	h.mu.Unlock()
	return w.Send(state)
}

// Publish sends state to all watchers, and returns how many there are.
func (h *Hub) Publish(state *benchpb.State) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.all {
		_ = w.Send(state) // one that is gone is told OnDone
	}
	return uint64(len(h.all))
}

// listener is a client's end of a watch.
type listener = streams.Client[streams.None, benchpb.State]

// Listeners is who hears on a client's ends: one value for all.
type Listeners struct {
	calls streams.ClientCallbacks[streams.None, benchpb.State]
}

// NewListeners returns Listeners that have seen called with each state that comes.
func NewListeners(seen func(*benchpb.State)) *Listeners {
	l := &Listeners{}
	l.calls.OnMessage = func(_ *listener, m *benchpb.State) { seen(m) }
	return l
}

// Listen begins a watch.
func (l *Listeners) Listen(ctx context.Context, client benchpb.BenchClient) error {
	_, err := streams.OpenServerStreaming(&l.calls, nil, func(o grpc.CallOption) (grpc.ServerStreamingClient[benchpb.State], error) {
		return client.Watch(ctx, &benchpb.WatchRequest{}, o)
	})
	return err
}
