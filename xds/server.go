// SPDX-License-Identifier: Apache-2.0

package xds

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/xds/server"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

// GRPCServer is a server that the xDS control plane configures (gRFC A36). The control plane
// decides which connections the server accepts, which RPCs it serves and, if the server has
// credentials of package credentials/xds, how connections are secured. In all else it works like
// a grpc.Server. Its methods are safe for concurrent use.
type GRPCServer struct {
	gs     *grpc.Server
	source *source
	client *xdsclient.Client

	mu      sync.Mutex
	release func() // gives the client back; nil once the server is stopped
	serving sync.WaitGroup
}

// NewGRPCServer returns a server that has no services yet and accepts no connections. It fails
// if there is no bootstrap configuration, if the bootstrap configuration is not valid, or if it
// lacks server_listener_resource_name_template.
func NewGRPCServer(opts ...grpc.ServerOption) (*GRPCServer, error) {
	s := &source{pool: xdsclient.Default}
	for _, o := range opts {
		if own, ok := o.(*serverOption); ok {
			own.set(s)
		}
	}
	pool := s.pool()
	if s.err != nil {
		return nil, s.err
	}
	gs := grpc.NewServer(append(opts[:len(opts):len(opts)], sourceOption{source: s})...)
	client, release, err := pool.Client(xdsclient.ServerName, s.handlers, s.recorders...)
	if err != nil {
		gs.Stop()
		return nil, fmt.Errorf("xDS client creation failed: %w", err)
	}
	if client.Bootstrap().ServerTemplate == "" {
		release()
		gs.Stop()
		return nil, errors.New("missing server_listener_resource_name_template in the bootstrap configuration")
	}
	return &GRPCServer{gs: gs, source: s, client: client, release: release}, nil
}

// RegisterService registers a service, as grpc.Server.RegisterService does. It must be called
// before Serve.
func (s *GRPCServer) RegisterService(sd *grpc.ServiceDesc, ss any) { s.gs.RegisterService(sd, ss) }

// GetServiceInfo returns descriptions of the registered services, by service name.
func (s *GRPCServer) GetServiceInfo() map[string]grpc.ServiceInfo { return s.gs.GetServiceInfo() }

// Serve works like grpc.Server.Serve, but fails unless lis listens on a TCP address; lis then
// stays open. It asks the control plane for the Listener resource of that address. While there is no
// such resource it closes each accepted connection at once, without sending anything. See
// ServingModeCallback.
func (s *GRPCServer) Serve(lis net.Listener) error {
	if !s.begin() {
		_ = lis.Close() // nothing else will use it
		return grpc.ErrServerStopped
	}
	defer s.serving.Done()
	l, err := server.Listen(lis, server.Options{Client: s.client, ModeChanged: s.source.modeChanged})
	if err != nil {
		return err
	}
	defer l.Close()
	return s.gs.Serve(l)
}

// begin returns false once the server is stopped. Otherwise the caller must call s.serving.Done.
func (s *GRPCServer) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.release == nil {
		return false
	}
	s.serving.Add(1)
	return true
}

// Stop works like grpc.Server.Stop. It also ends the server's requests to the control plane.
func (s *GRPCServer) Stop() {
	s.gs.Stop()
	s.end()
}

// GracefulStop works like grpc.Server.GracefulStop. It also ends the server's requests to the
// control plane.
func (s *GRPCServer) GracefulStop() {
	s.gs.GracefulStop()
	s.end()
}

func (s *GRPCServer) end() {
	s.mu.Lock()
	release := s.release
	s.release = nil
	s.mu.Unlock()
	s.serving.Wait()
	if release != nil {
		release()
	}
}
