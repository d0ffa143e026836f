// SPDX-License-Identifier: Apache-2.0

// Peer is one side of an ALTS connection, as a program. It uses only the public API, so
// that it can be built against either implementation. A server prints its address, and
// ends when its standard input ends.
//
//	peer -role server -handshaker ADDR
//	peer -role client -handshaker ADDR -target ADDR [-bench DURATION]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/alts"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

const (
	maxMessage = 65 << 20
	// writeBuffer lets either module write records of up to 1 MiB.
	writeBuffer = 4 << 20
)

func main() {
	role := flag.String("role", "", "`side` to play: server or client")
	handshaker := flag.String("handshaker", "", "`address` of the handshaker service")
	target := flag.String("target", "", "`address` of the server")
	account := flag.String("account", "", "service `account` that the server must have")
	bench := flag.Duration("bench", 0, "measure large messages for so long, instead of running the cases")
	deadline := flag.Duration("deadline", 2*time.Minute, "how long a client may take")
	flag.Parse()
	run := func() error { return serve(*handshaker) }
	if *role == "client" {
		run = func() error { return call(*handshaker, *target, *account, *bench, *deadline) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func serve(handshaker string) error {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	opts := alts.DefaultServerOptions()
	opts.HandshakerServiceAddress = handshaker
	srv := grpc.NewServer(grpc.Creds(alts.NewServerCreds(opts)), grpc.MaxRecvMsgSize(maxMessage), grpc.WriteBufferSize(writeBuffer))
	testpb.RegisterTestServiceServer(srv, server{})
	fmt.Println(lis.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the process that started this one is gone
		srv.Stop()
	}()
	return srv.Serve(lis)
}

func call(handshaker, target, account string, bench, deadline time.Duration) error {
	opts := alts.DefaultClientOptions()
	opts.HandshakerServiceAddress = handshaker
	if account != "" {
		opts.TargetServiceAccounts = []string{account}
	}
	cc, err := grpc.NewClient(target, grpc.WithTransportCredentials(alts.NewClientCreds(opts)),
		grpc.WithWriteBufferSize(writeBuffer), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	client := testpb.NewTestServiceClient(cc)
	if bench > 0 {
		return measure(ctx, client, bench)
	}
	return runCases(ctx, client)
}
