// SPDX-License-Identifier: Apache-2.0

package link

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/delay"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/service"
	"google.golang.org/grpc/credentials"
)

// Listen serves b, or raw bytes, until the process ends, which is to call cleanup then.
func Listen(args ops.Serve, b *service.Bench) (_ ops.Served, cleanup func(), _ error) {
	lis, err := listen(args)
	if err != nil {
		return ops.Served{}, nil, err
	}
	var served ops.Served
	var secure *tls.Config
	if args.Security == ops.TLS {
		cert, rootPEM, err := newCertificate()
		if err != nil {
			return ops.Served{}, nil, err
		}
		secure = &tls.Config{Certificates: []tls.Certificate{cert}}
		served.RootPEM = rootPEM
	}
	for _, l := range lis {
		reach := l
		if args.Delay > 0 {
			if reach, err = delay.Listen(l.Addr().String(), args.Delay); err != nil {
				return ops.Served{}, nil, err
			}
		}
		served.Targets = append(served.Targets, target(args, reach))
	}
	if args.Protocol == ops.Raw {
		serveRaw(lis, secure, b)
	} else {
		serveGRPC(lis, secure, b)
	}
	return served, func() { remove(lis) }, nil
}

func serveGRPC(lis []net.Listener, secure *tls.Config, b *service.Bench) {
	opts := []grpc.ServerOption{grpc.MaxRecvMsgSize(service.MaxMessage)}
	if secure != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(secure)))
	}
	server := grpc.NewServer(opts...)
	benchpb.RegisterBenchServer(server, b)
	for _, l := range lis {
		go func() {
			if err := server.Serve(l); err != nil {
				fmt.Fprintln(os.Stderr, "serving:", err)
				os.Exit(1)
			}
		}()
	}
}

// listen listens on 127.0.0.1 and, when more addresses are wanted, on those behind it, at
// the same port; or on a socket in a folder of its own.
func listen(args ops.Serve) ([]net.Listener, error) {
	if args.Network == ops.Unix {
		dir, err := os.MkdirTemp("", "grpc-bench")
		if err != nil {
			return nil, err
		}
		l, err := net.Listen("unix", filepath.Join(dir, "socket"))
		return []net.Listener{l}, err
	}
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	lis := []net.Listener{first}
	port := strconv.Itoa(first.Addr().(*net.TCPAddr).Port)
	for i := 2; i <= min(args.Addresses, 254); i++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0."+strconv.Itoa(i), port))
		if err != nil {
			return lis, nil // systems where loopback is one address have ports for fewer connections
		}
		lis = append(lis, l)
	}
	return lis, nil
}

func target(args ops.Serve, l net.Listener) string {
	if args.Network == ops.Unix && args.Protocol == ops.GRPC {
		return "unix://" + l.Addr().String()
	}
	return l.Addr().String()
}

// remove removes the folders that listen made for sockets.
func remove(lis []net.Listener) {
	for _, l := range lis {
		if addr, ok := l.Addr().(*net.UnixAddr); ok {
			_ = os.RemoveAll(filepath.Dir(addr.Name)) // what stays is an empty folder below the temporary one
		}
	}
}
