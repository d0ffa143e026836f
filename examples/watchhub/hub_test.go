// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"net"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// TestHub: a service that only its watchers name goes with the last of them, and after finish there are no new ones.
func TestHub(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h, server := newHub(), grpc.NewServer()
	forgotten := make(chan struct{}, 3) // one for each watch below
	h.calls.OnDone = func(w *watcher, _ error) {
		h.forget(w)
		forgotten <- struct{}{}
	}
	healthpb.RegisterHealthServer(server, h)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	h.set("db", healthpb.HealthCheckResponse_SERVING)
	for service, want := range map[string]healthpb.HealthCheckResponse_ServingStatus{
		"db": healthpb.HealthCheckResponse_SERVING, "x": healthpb.HealthCheckResponse_SERVICE_UNKNOWN, "y": healthpb.HealthCheckResponse_SERVICE_UNKNOWN,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w, err := healthpb.NewHealthClient(cc).Watch(ctx, &healthpb.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := w.Recv(); err != nil || m.GetStatus() != want {
			t.Errorf("%s: %v, %v", service, m, err)
		}
		cancel()
	}
	for range cap(forgotten) {
		<-forgotten
	}
	h.mu.Lock()
	if len(h.topics) != 1 || h.topics["db"] == nil {
		t.Errorf("services that are left: %v", slices.Collect(maps.Keys(h.topics)))
	}
	h.mu.Unlock()
	h.finish()
	w, err := healthpb.NewHealthClient(cc).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err == nil {
		_, err = w.Recv()
	}
	if status.Code(err) != codes.Unavailable {
		t.Errorf("after finish: %v", err)
	}
	server.GracefulStop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
