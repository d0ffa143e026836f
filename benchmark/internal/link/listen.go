// SPDX-License-Identifier: Apache-2.0

package link

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/bare"
	"google.golang.org/grpc/benchmark/internal/certs"
	"google.golang.org/grpc/benchmark/internal/delay"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/service"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats/opentelemetry"
)

// Listen serves b, or raw bytes, until the process ends, which is to call cleanup then.
func Listen(args ops.Serve, b *service.Bench) (_ ops.Served, cleanup func(), _ error) {
	lis, err := listen(args)
	if err != nil {
		return ops.Served{}, nil, err
	}
	served, sec, err := secure(args)
	if err != nil {
		return ops.Served{}, nil, err
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
	switch args.Protocol {
	case ops.Raw:
		serveBytes(lis, sec.wrap, func(c net.Conn) { rawConn(c, b) })
	case ops.Epoll:
		err = serveEpoll(lis, b)
	case ops.Bare:
		serveBytes(lis, sec.wrap, func(c net.Conn) { bare.Serve(c, b.Echo) })
	default:
		if wrap := wrapper(args.Link, sec.wrap); wrap != nil {
			for i := range lis {
				lis[i] = wrapping{lis[i], wrap}
			}
		}
		serveGRPC(lis, args, sec.creds, b)
	}
	return served, func() { remove(lis) }, err
}

// security is how a server protects its connections: those with gRPC by creds, those
// without by wrap. Plain connections have nil for both.
type security struct {
	creds credentials.TransportCredentials
	wrap  func(net.Conn) net.Conn
}

// secure prepares what was ordered, with all that clients have to know.
func secure(args ops.Serve) (served ops.Served, sec security, err error) {
	switch {
	case args.Security == ops.TLS:
		config, err := certs.Server(args.Cert, args.Key)
		if err != nil {
			return served, sec, err
		}
		served.RootPEM = args.Cert
		sec.creds = credentials.NewTLS(config)
		if args.Wrap == ops.OwnTLS {
			config, sec.creds = ofH2(config), nil
		}
		sec.wrap = func(c net.Conn) net.Conn { return tls.Server(c, config) }
	case args.Security == ops.ALTS && args.Protocol == ops.Raw:
		served.Key = newKey()
		aead, err := newAEAD(served.Key)
		if err != nil {
			return served, sec, err
		}
		sec.wrap = func(c net.Conn) net.Conn { return newSealed(c, aead, serverSide) }
	case args.Security == ops.ALTS:
		served.Handshaker = args.Handshaker
		opts := alts.DefaultServerOptions()
		opts.HandshakerServiceAddress = args.Handshaker
		sec.creds = alts.NewServerCreds(opts)
	}
	return served, sec, nil
}

func serveGRPC(lis []net.Listener, args ops.Serve, creds credentials.TransportCredentials, b *service.Bench) {
	opts := []grpc.ServerOption{grpc.MaxRecvMsgSize(service.MaxMessage)}
	if creds != nil {
		opts = append(opts, grpc.Creds(creds))
	}
	if args.Metrics {
		opts = append(opts, opentelemetry.ServerOption(measuring()))
	}
	if args.Protocol == ops.Pings {
		opts = append(opts, grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: time.Millisecond, PermitWithoutStream: true,
		}))
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

// listen listens on the host that was ordered, or on 127.0.0.1 and, when more addresses are wanted, on those behind it, at
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
	if args.Host != "" {
		l, err := net.Listen("tcp", net.JoinHostPort(args.Host, "0"))
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
