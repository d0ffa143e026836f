// SPDX-License-Identifier: Apache-2.0

package servercontrol_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/servercontrol"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// A server stops within a time, and says what it had to break off.
func ExampleControl_GracefulStop() {
	var control servercontrol.Control
	server := grpc.NewServer(control.Option())
	healthpb.RegisterHealthServer(server, health.NewServer())
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go server.Serve(lis)

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = control.GracefulStop(ctx)
	if left, ok := errors.AsType[*servercontrol.UnfinishedError](err); ok {
		for _, rpc := range left.RPCs {
			log.Printf("breaking off %s of %v, begun at %v", rpc.Method, rpc.Peer.Addr, rpc.Began)
		}
	}
	server.Stop()
	fmt.Println(err)
	// Output: <nil>
}

// Connections that are older than an hour, and busy, are drained one by one.
func ExampleConn_Drain() {
	var control servercontrol.Control
	server := grpc.NewServer(control.Option())
	defer server.Stop()

	for _, conn := range control.Conns() {
		if time.Since(conn.Began()) > time.Hour && conn.Status().Streams > 100 {
			conn.Drain()
		}
	}
	fmt.Println(len(control.Conns()))
	// Output: 0
}
