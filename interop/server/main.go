// SPDX-License-Identifier: Apache-2.0

// Command server serves the test service until it is interrupted.
//
//	server -addr 127.0.0.1:10000
//	server -network unix -addr /run/interop.sock
//	server -addr 127.0.0.1:10000 -tls -cert server.pem -key server-key.pem
//	server -addr 127.0.0.1:10000,127.0.0.1:10001,127.0.0.1:10002
//
// If there are several addresses, a separate server listens at each. Once all accept
// connections the program prints "listening on" and the addresses, separated by commas, on
// one line.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/interop"
)

type options struct {
	addr      string
	network   string
	tls       bool
	cert, key string
	untilEOF  bool
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:10000", "host:port (port 0: any), or the path of a unix socket; of several servers, separated by commas")
	flag.StringVar(&o.network, "network", "tcp", "tcp or unix")
	flag.BoolVar(&o.tls, "tls", false, "use TLS")
	flag.StringVar(&o.cert, "cert", "", "with -tls: file of the certificate chain")
	flag.StringVar(&o.key, "key", "", "with -tls: file of the private key")
	flag.BoolVar(&o.untilEOF, "until-eof", false, "stop also when standard input ends")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if o.network != "tcp" && o.network != "unix" {
		return fmt.Errorf("network %q is neither tcp nor unix", o.network)
	}
	opts, err := serverOptions(o)
	if err != nil {
		return err
	}
	listeners, err := listen(o.network, strings.Split(o.addr, ","))
	if err != nil {
		return err
	}
	servers := make([]*grpc.Server, len(listeners))
	addrs := make([]string, len(listeners))
	for i, lis := range listeners {
		servers[i] = interop.NewServer(opts...)
		addrs[i] = lis.Addr().String()
	}
	ended := make(chan error, len(servers))
	for i, srv := range servers {
		go func() { ended <- srv.Serve(listeners[i]) }()
	}
	fmt.Println("listening on", strings.Join(addrs, ","))
	go func() {
		waitForEnd(o.untilEOF)
		for _, srv := range servers {
			srv.GracefulStop()
		}
	}()
	for range servers {
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
	}
	return nil
}

// listen listens at all addresses. If it fails for one, it closes the listeners of the others.
func listen(network string, addrs []string) ([]net.Listener, error) {
	var listeners []net.Listener
	for _, addr := range addrs {
		lis, err := net.Listen(network, addr)
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return nil, err
		}
		listeners = append(listeners, lis)
	}
	return listeners, nil
}

func serverOptions(o options) ([]grpc.ServerOption, error) {
	if !o.tls {
		return nil, nil
	}
	creds, err := credentials.NewServerTLSFromFile(o.cert, o.key)
	if err != nil {
		return nil, err
	}
	return []grpc.ServerOption{grpc.Creds(creds)}, nil
}

// waitForEnd returns at the first signal to stop, or at the end of standard input.
func waitForEnd(untilEOF bool) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if untilEOF {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	<-ctx.Done()
}
