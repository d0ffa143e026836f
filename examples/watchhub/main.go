// SPDX-License-Identifier: Apache-2.0

// Watchhub is a hub of watchers that hold no goroutine. It opens watches to itself, on a few
// connections, and prints what they cost, then sends one message to all.
//
//	go run . -watchers 10000 -conns 100
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/streams"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	watchers := flag.Int("watchers", 10_000, "how many watches are opened")
	conns := flag.Int("conns", 100, "over how many connections")
	flag.Parse()
	if err := run(*watchers, *conns); err != nil {
		log.Fatal(err)
	}
}

func run(watchers, conns int) error {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := newHub()
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, h)
	go func() {
		if err := server.Serve(lis); err != nil {
			log.Print(err)
		}
	}()

	before := memory()
	var news sync.WaitGroup
	news.Add(watchers) // each hears the present state first
	calls := &streams.ClientCallbacks[streams.None, healthpb.HealthCheckResponse]{
		OnMessage: func(*streams.Client[streams.None, healthpb.HealthCheckResponse], *healthpb.HealthCheckResponse) {
			news.Done()
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i := range conns {
		cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer cc.Close()
		client := healthpb.NewHealthClient(cc)
		for range watchers*(i+1)/conns - watchers*i/conns {
			if _, err := streams.OpenServerStreaming(calls, nil, func(o grpc.CallOption) (grpc.ServerStreamingClient[healthpb.HealthCheckResponse], error) {
				return client.Watch(ctx, &healthpb.HealthCheckRequest{Service: "db"}, o)
			}); err != nil {
				return err
			}
		}
	}
	news.Wait()
	time.Sleep(time.Second) // until connections and goroutines that were busy are idle
	fmt.Printf("%d watches over %d connections: %d goroutines, %d bytes of heap for each, both sides together\n",
		watchers, conns, runtime.NumGoroutine(), (memory()-before)/watchers)

	news.Add(watchers)
	began := time.Now()
	sent := h.set("db", healthpb.HealthCheckResponse_SERVING)
	news.Wait()
	fmt.Printf("%d watchers heard of the change within %v\n", sent, time.Since(began).Round(time.Millisecond))

	h.finish()
	server.GracefulStop()
	return nil
}

func memory() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
