// SPDX-License-Identifier: Apache-2.0

// Package admin is where services for administrators are announced, so that package
// admin registers those that a program has linked in, and depends on none.
package admin

import (
	"slices"
	"sync"

	"google.golang.org/grpc"
)

// Service adds a service to a server. The function it returns releases what the service
// holds, once the server has stopped; it may be nil.
type Service func(grpc.ServiceRegistrar) (cleanup func(), err error)

// Services is a list of services. It is safe for concurrent use; the zero value is empty.
type Services struct {
	mu   sync.Mutex
	list []Service
}

// Default has the services of the process.
var Default Services

// Add announces a service.
func (s *Services) Add(service Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, service)
}

// Register adds all services that were announced to a server. After an error nothing
// is left that would have to be released.
func (s *Services) Register(server grpc.ServiceRegistrar) (cleanup func(), err error) {
	s.mu.Lock()
	list := slices.Clip(s.list)
	s.mu.Unlock() // the server is the program's
	var cleanups []func()
	cleanup = func() {
		for _, f := range cleanups {
			f()
		}
	}
	for _, service := range list {
		f, err := service(server)
		if f != nil {
			cleanups = append(cleanups, f)
		}
		if err != nil {
			cleanup()
			return nil, err
		}
	}
	return cleanup, nil
}
