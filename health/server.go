// SPDX-License-Identifier: Apache-2.0

// Package health has the health service of gRPC, by which a server says which of its
// services can be called (grpc/doc/health-checking.md).
//
//	hs := health.NewServer()
//	healthpb.RegisterHealthServer(server, hs)
//	hs.SetServingStatus("package.Service", healthpb.HealthCheckResponse_SERVING)
//
// A channel whose service config has a healthCheckConfig calls this service by itself, if
// its balancer supports health checking, as round_robin does. It then sends RPCs only to
// servers that say SERVING (gRFC A17). The client program must import this package for
// that; a blank import is enough.
package health

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// maxListed is how many services List returns at most (health.proto).
const maxListed = 100

var logger = grpclog.Component("health_service")

// Server is a health service. The application sets the statuses that it returns. Its
// methods are safe for concurrent use.
type Server struct {
	healthpb.UnimplementedHealthServer

	mu       sync.RWMutex
	stopped  bool // between Shutdown and Resume
	statuses map[string]healthpb.HealthCheckResponse_ServingStatus
	// watchers has, by service, a channel of capacity 1 for every Watch that is running. A
	// value in the channel says that the status may have changed. Watch reads the new one
	// from statuses, so that a slow client skips statuses that are out of date.
	watchers map[string]map[chan struct{}]bool
}

// NewServer returns a Server on which one service has a status: the empty name, which
// stands for the whole server, is SERVING.
func NewServer() *Server {
	return &Server{
		statuses: map[string]healthpb.HealthCheckResponse_ServingStatus{"": healthpb.HealthCheckResponse_SERVING},
		watchers: make(map[string]map[chan struct{}]bool),
	}
}

// SetServingStatus sets the status of a service. The empty name stands for the whole
// server. It does nothing between Shutdown and Resume.
func (s *Server) SetServingStatus(service string, servingStatus healthpb.HealthCheckResponse_ServingStatus) {
	if !s.setUnlessStopped(service, servingStatus) { // the program's logger may use the server
		logger.Infof("status of service %q stays as it is: %v was set after Shutdown", service, servingStatus)
	}
}

func (s *Server) setUnlessStopped(service string, to healthpb.HealthCheckResponse_ServingStatus) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.set(service, to)
	return true
}

// Shutdown sets the status of all services to NOT_SERVING. SetServingStatus does nothing
// from then on until Resume. Call Shutdown before GracefulStop, so that clients use other
// servers.
func (s *Server) Shutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.setAll(healthpb.HealthCheckResponse_NOT_SERVING)
}

// Resume sets the status of all services to SERVING, including those that were not SERVING
// before Shutdown.
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

// Check returns the status of a service. It fails with codes.NotFound if the service has
// no status.
func (s *Server) Check(_ context.Context, req *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	is, ok := s.statuses[req.GetService()]
	if !ok {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	return &healthpb.HealthCheckResponse{Status: is}, nil
}

// List returns the statuses of all services. It fails with codes.ResourceExhausted if
// there are more than 100.
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

// Watch sends the status of a service at once and after each change, until the client
// cancels or sending fails. It then returns codes.Canceled. For a service without a status
// it sends SERVICE_UNKNOWN. If there are several changes in a row, it may send only the
// last status.
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

// removeWatcher removes a watcher, and the service's entry with the last one: clients can make
// up any number of names.
func (s *Server) removeWatcher(service string, wake chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers[service], wake)
	if len(s.watchers[service]) == 0 {
		delete(s.watchers, service)
	}
}
