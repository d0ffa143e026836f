// SPDX-License-Identifier: Apache-2.0

package xds_test

import (
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/xds"
)

// A client that a control plane leads. GRPC_XDS_BOOTSTRAP names the file that says which one.
// Security is as the control plane says; where it says nothing, plain.
func Example_client() {
	creds, err := xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		log.Fatal(err)
	}
	cc, err := grpc.NewClient("xds:///orders.shop.example", grpc.WithTransportCredentials(creds))
	if err != nil {
		log.Fatal(err)
	}
	defer cc.Close()
}

// A server that a control plane leads. It serves when it has its Listener.
func ExampleNewGRPCServer() {
	creds, err := xdscreds.NewServerCredentials(xdscreds.ServerOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		log.Fatal(err)
	}
	server, err := xds.NewGRPCServer(grpc.Creds(creds), xds.ServingModeCallback(func(addr net.Addr, mode xds.ServingModeChangeArgs) {
		log.Println(addr, "is", mode.Mode, mode.Err)
	}))
	if err != nil {
		log.Fatal(err)
	}
	healthpb.RegisterHealthServer(server, health.NewServer())
	lis, err := net.Listen("tcp", ":8080")
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Serve(lis); err != nil {
		log.Fatal(err)
	}
}
