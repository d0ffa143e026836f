// SPDX-License-Identifier: Apache-2.0

//go:build !published

package victim

import (
	"crypto/tls"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/oneport"

	"google.golang.org/grpc/attack/internal/orders"
)

const hasPort = true

// servePort serves gRPC and HTTP on lis until the process ends.
func servePort(lis net.Listener, o orders.Serve, options []grpc.ServerOption) error {
	var secure *tls.Config
	if o.Security == orders.TLS {
		cert, err := newCertificate()
		if err != nil {
			return err
		}
		secure = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	port, err := oneport.New(lis, oneport.Options{TLS: secure})
	if err != nil {
		return err
	}
	server := newServer(o, append(options, grpc.Creds(oneport.Credentials())))
	web := newWeb(oneport.Handler(server, server))
	go func() { _ = server.Serve(port.GRPC()) }()
	go func() { _ = web.Serve(port.HTTP()) }()
	go func() { _ = port.Serve() }()
	return nil
}
