// SPDX-License-Identifier: Apache-2.0

package oneport_test

import (
	"context"
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/oneport"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// A server of health checks beside a web page, on one TLS port, until it is interrupted.
func Example() {
	cert, err := tls.LoadX509KeyPair("server.crt", "server.key")
	if err != nil {
		log.Fatal(err)
	}
	lis, err := net.Listen("tcp", ":8443")
	if err != nil {
		log.Fatal(err)
	}
	port, err := oneport.New(lis, oneport.Options{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	if err != nil {
		log.Fatal(err)
	}

	rpc := grpc.NewServer(grpc.Creds(oneport.Credentials()))
	healthpb.RegisterHealthServer(rpc, health.NewServer())
	web := &http.Server{Handler: oneport.Handler(rpc, http.FileServer(http.Dir("public")))}

	go func() { log.Println("gRPC:", rpc.Serve(port.GRPC())) }()
	go func() { log.Println("HTTP:", web.Serve(port.HTTP())) }()
	go func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		<-ctx.Done()
		_ = web.Shutdown(context.Background()) // each stops with its own connections
		rpc.GracefulStop()
	}()
	if err := port.Serve(); err != nil {
		log.Fatal(err)
	}
}
