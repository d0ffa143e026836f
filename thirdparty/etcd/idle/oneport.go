// SPDX-License-Identifier: Apache-2.0

//go:build !published

package main

import (
	"crypto/tls"
	"net"
	"net/http"

	"go.etcd.io/etcd/server/v3/etcdserver/api/etcdhttp"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/oneport"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// The published module has no package oneport: its figures are those without.
func init() {
	rows = append(rows,
		row{name: "oneport", serve: func() (string, error) { return onePort(nil) }},
		row{name: "oneport, TLS", serve: func() (string, error) { return onePort(portTLS()) }, secure: true},
		row{name: "etcd, TLS, oneport", serve: etcdBehindPort, secure: true},
	)
}

func portTLS() *tls.Config {
	cert, _ := identity()
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

// onePort serves health checks, and beside them an http.Server.
func onePort(config *tls.Config) (string, error) {
	port, addr, err := newPort(config)
	if err != nil {
		return "", err
	}
	s := grpc.NewServer(grpc.Creds(oneport.Credentials()))
	healthpb.RegisterHealthServer(s, health.NewServer())
	run(port, s, http.NewServeMux())
	return addr, nil
}

// etcdBehindPort embeds an etcd as a program can that wants its gRPC and its HTTP on one port
// with TLS: etcd's own listener for clients has net/http serve both.
func etcdBehindPort() (string, error) {
	e, _, err := startEtcd(false, true)
	if err != nil {
		return "", err
	}
	port, addr, err := newPort(portTLS())
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	etcdhttp.HandleVersion(mux, e.Server)
	etcdhttp.HandleMetrics(mux)
	run(port, v3rpc.Server(e.Server, nil, nil, grpc.Creds(oneport.Credentials())), mux)
	return addr, nil
}

func newPort(config *tls.Config) (*oneport.Port, string, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	port, err := oneport.New(lis, oneport.Options{TLS: config})
	return port, lis.Addr().String(), err
}

func run(port *oneport.Port, rpc *grpc.Server, web http.Handler) {
	s := &http.Server{Handler: oneport.Handler(rpc, web)}
	go func() { _ = rpc.Serve(port.GRPC()) }()
	go func() { _ = s.Serve(port.HTTP()) }()
	go func() { _ = port.Serve() }()
}
