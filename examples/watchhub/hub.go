// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental/streams"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// watcher is the server's end of one watch.
type watcher = streams.Server[streams.None, healthpb.HealthCheckResponse]

// hub is a health service whose watchers hold no goroutine: each costs what its stream takes.
type hub struct {
	healthpb.UnimplementedHealthServer
	calls streams.ServerCallbacks[streams.None, healthpb.HealthCheckResponse]
	opts  streams.Options

	mu      sync.Mutex
	topics  map[string]*topic
	topicOf map[*watcher]*topic
	closed  bool // finish was called
}

// topic is one service with those who watch it.
type topic struct {
	service  string
	known    bool // set was called: otherwise it goes with its last watcher, as clients name what they like
	status   healthpb.HealthCheckResponse_ServingStatus
	watchers streams.Group[streams.None, healthpb.HealthCheckResponse]
}

func newHub() *hub {
	h := &hub{topics: make(map[string]*topic), topicOf: make(map[*watcher]*topic)}
	// One set of callbacks serves all streams. Watchers send nothing, so the end is all
	// there is to hear of.
	h.calls.OnDone = func(w *watcher, _ error) { h.forget(w) }
	// Of a watcher that is too slow only the latest state matters.
	h.opts = streams.Options{Queue: 1, Full: streams.DropOldest}
	return h
}

// Watch implements healthpb.HealthServer. When it returns, the watch goes on without it.
func (h *hub) Watch(req *healthpb.HealthCheckRequest, stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	w, err := streams.ServerStreaming(stream, &h.calls, &h.opts)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosing
	}
	t := h.topic(req.GetService())
	t.watchers.Add(w)
	h.topicOf[w] = t
	return w.Send(&healthpb.HealthCheckResponse{Status: t.status})
}

// Check implements healthpb.HealthServer.
func (h *hub) Check(_ context.Context, req *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[req.GetService()]
	if t == nil || !t.known {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	return &healthpb.HealthCheckResponse{Status: t.status}, nil
}

// set changes the state of a service. All who watch it are sent one message, encoded once.
func (h *hub) set(service string, s healthpb.HealthCheckResponse_ServingStatus) (watchers int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topic(service)
	t.status, t.known = s, true
	return t.watchers.Send(&healthpb.HealthCheckResponse{Status: s})
}

// topic is called with mu held.
func (h *hub) topic(service string) *topic {
	t := h.topics[service]
	if t == nil {
		t = &topic{service: service, status: healthpb.HealthCheckResponse_SERVICE_UNKNOWN}
		h.topics[service] = t
	}
	return t
}

func (h *hub) forget(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topicOf[w]
	if t == nil { // Watch has refused it
		return
	}
	delete(h.topicOf, w)
	if t.watchers.Remove(w); !t.known && t.watchers.Len() == 0 {
		delete(h.topics, t.service)
	}
}

var errClosing = status.Error(codes.Unavailable, "the hub is closing")

// finish ends all watches, and refuses those that come, so that GracefulStop has nothing to wait for.
func (h *hub) finish() {
	h.mu.Lock()
	h.closed = true
	all := make([]*watcher, 0, len(h.topicOf))
	for w := range h.topicOf {
		all = append(all, w)
	}
	h.mu.Unlock()
	for _, w := range all {
		_ = w.Finish(errClosing)
	}
}
