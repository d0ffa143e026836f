// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/cloudwego/kitex/server"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/service"
)

// errNoTLS says why there is no row over TLS.
var errNoTLS = errors.New("servers of Kitex have no TLS")

func serve(l net.Listener, order ops.Serve, b *service.Bench) error {
	if order.Security != ops.Insecure {
		return errNoTLS
	}
	s := server.NewServer(
		server.WithListener(l),
		// This process ends when its standard input does, not by a signal.
		server.WithExitSignal(func() <-chan error { return nil }),
	)
	if err := s.RegisterService(info(), b); err != nil {
		return err
	}
	go func() {
		if err := s.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "serving:", err)
			os.Exit(1)
		}
	}()
	return nil
}
