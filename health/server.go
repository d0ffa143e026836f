// SPDX-License-Identifier: Apache-2.0

// Package health has the health service of gRPC: a server tells which of its services
// can be called (grpc/doc/health-checking.md).
//
//	hs := health.NewServer()
//	healthpb.RegisterHealthServer(server, hs)
//	hs.SetServingStatus("package.Service", healthpb.HealthCheckResponse_SERVING)
//
// A client whose service config has a healthCheckConfig makes use of it on its own, with
// a balancer that supports that (round_robin does): it sends RPCs only to servers that say
// SERVING (gRFC A17). For this the client has to import this package, if only for its
// side effect.
package health

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// maxListed is how many services List answers with at most (health.proto).
const maxListed = 100

var logger = grpclog.Component("health_service")

// Server is a health service whose answers the application sets. Its methods are safe
// for concurrent use.
type Server struct {
	healthpb.UnimplementedHealthServer

	mu       sync.RWMutex
	stopped  bool // by Shutdown
	statuses map[string]healthpb.HealthCheckResponse_ServingStatus
	// watchers have a channel, of capacity 1, for every Watch that runs. What is in it
	// says that the status may be another one; which it is stands in statuses, so that a
	// slow client skips what is past.
	watchers map[string]map[chan struct{}]bool
}

// NewServer returns a Server that knows one service, the empty name, which stands for the
// whole server, and says that it is serving.
func NewServer() *Server {
	return &Server{
		statuses: map[string]healthpb.HealthCheckResponse_ServingStatus{"": healthpb.HealthCheckResponse_SERVING},
		watchers: make(map[string]map[chan struct{}]bool),
	}
}

// SetServingStatus says how a service is from now on; the empty name stands for the whole
// server. It does nothing between Shutdown and Resume.
func (s *Server) SetServingStatus(service string, servingStatus healthpb.HealthCheckResponse_ServingStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		logger.Infof("status of service %q stays as it is: %v was set after Shutdown", service, servingStatus)
		return
	}
	s.set(service, servingStatus)
}

// Shutdown says that no service serves, and lets nobody say otherwise until Resume. Call
// it before GracefulStop, so that clients look elsewhere.
func (s *Server) Shutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.setAll(healthpb.HealthCheckResponse_NOT_SERVING)
}

// Resume says that all services serve, also those that did not before Shutdown.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = false
	s.setAll(healthpb.HealthCheckResponse_SERVING)
}

func (s *Server) setAll(to healthpb.HealthCheckResponse_ServingStatus) {
	for service := range s.statuses {
		s.set(service, to)
	}
}

func (s *Server) set(service string, to healthpb.HealthCheckResponse_ServingStatus) {
	s.statuses[service] = to
	for wake := range s.watchers[service] {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// Check answers how a service is. For one that has no status it fails with
// codes.NotFound.
func (s *Server) Check(_ context.Context, req *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	is, ok := s.statuses[req.GetService()]
	if !ok {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	return &healthpb.HealthCheckResponse{Status: is}, nil
}

// List answers how all services are. If there are more than 100 it fails with
// codes.ResourceExhausted.
func (s *Server) List(context.Context, *healthpb.HealthListRequest) (*healthpb.HealthListResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.statuses) > maxListed {
		return nil, status.Errorf(codes.ResourceExhausted, "server health list exceeds maximum capacity: %d", maxListed)
	}
	list := make(map[string]*healthpb.HealthCheckResponse, len(s.statuses))
	for service, is := range s.statuses {
		list[service] = &healthpb.HealthCheckResponse{Status: is}
	}
	return &healthpb.HealthListResponse{Statuses: list}, nil
}

// Watch sends how a service is, and again whenever that has changed, until the client
// cancels or sending fails; it then returns codes.Canceled. A service that has no
// status is SERVICE_UNKNOWN, until it is given one. Of several changes in a row a client
// may be told the last only.
func (s *Server) Watch(req *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	service := req.GetService()
	wake := make(chan struct{}, 1)
	s.addWatcher(service, wake)
	defer s.removeWatcher(service, wake)

	sent := healthpb.HealthCheckResponse_ServingStatus(-1)
	for {
		if is := s.watched(service); is != sent {
			if err := stream.Send(&healthpb.HealthCheckResponse{Status: is}); err != nil {
				return status.Error(codes.Canceled, "health: the watch has ended")
			}
			sent = is
		}
		select {
		case <-stream.Context().Done():
			return status.Error(codes.Canceled, "health: the watch has ended")
		case <-wake:
		}
	}
}

func (s *Server) watched(service string) healthpb.HealthCheckResponse_ServingStatus {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if is, ok := s.statuses[service]; ok {
		return is
	}
	return healthpb.HealthCheckResponse_SERVICE_UNKNOWN
}

func (s *Server) addWatcher(service string, wake chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers[service] == nil {
		s.watchers[service] = make(map[chan struct{}]bool)
	}
	s.watchers[service][wake] = true
}

// removeWatcher leaves nothing behind: clients choose the names.
func (s *Server) removeWatcher(service string, wake chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers[service], wake)
	if len(s.watchers[service]) == 0 {
		delete(s.watchers, service)
	}
}
