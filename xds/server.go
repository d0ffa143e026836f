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

// GRPCServer is a server that the xDS control plane configures (gRFC A36): which connections it
// takes, how they are secured, if it has credentials of package credentials/xds, and which RPCs
// are let in. All else is as with a grpc.Server. Its methods may be called by any goroutine.
type GRPCServer struct {
	gs     *grpc.Server
	source *source
	client *xdsclient.Client

	mu      sync.Mutex
	release func() // gives the client back; nil once it is
	serving sync.WaitGroup
}

// NewGRPCServer returns a server that has no services and accepts nothing yet. It fails if there
// is no bootstrap configuration, if that is not valid, or if it lacks
// server_listener_resource_name_template.
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

// RegisterService adds a service, as grpc.Server's does. It must be called before Serve.
func (s *GRPCServer) RegisterService(sd *grpc.ServiceDesc, ss any) { s.gs.RegisterService(sd, ss) }

// GetServiceInfo describes the services that are registered, by their names.
func (s *GRPCServer) GetServiceInfo() map[string]grpc.ServiceInfo { return s.gs.GetServiceInfo() }

// Serve is grpc.Server's for a listener that listens on a TCP address; it fails for others. The
// control plane is asked for the Listener resource of that address, and connections are closed
// at once, with nothing sent, until the resource is there, and whenever it is not: see
// ServingModeCallback.
func (s *GRPCServer) Serve(lis net.Listener) error {
	if !s.begin() {
		_ = lis.Close() // nobody will use it
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

// begin is false once the server is stopped.
func (s *GRPCServer) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.release == nil {
		return false
	}
	s.serving.Add(1)
	return true
}

// Stop is grpc.Server's. The control plane is no longer asked for anything.
func (s *GRPCServer) Stop() {
	s.gs.Stop()
	s.end()
}

// GracefulStop is grpc.Server's. The control plane is no longer asked for anything.
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
