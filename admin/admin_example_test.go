// SPDX-License-Identifier: Apache-2.0

package admin_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/admin"
	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/credentials/insecure"
)

// A server of the services that show what a process does: channelz, and, if package xds is linked,
// CSDS. They tell addresses and names, so let them listen where only operators get.
func Example() {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	cleanup, err := admin.Register(server)
	if err != nil {
		log.Fatal(err)
	}
	defer cleanup()
	go server.Serve(lis)
	defer server.Stop()

	cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, err := channelzpb.NewChannelzClient(cc).GetServers(ctx, &channelzpb.GetServersRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(r.Server), "server,", r.Server[0].Data.CallsStarted, "call started")
	// Output: 1 server, 1 call started
}
