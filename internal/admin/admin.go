// SPDX-License-Identifier: Apache-2.0

// Package admin is where services for administrators are announced, so that package
// admin registers those that a program has linked in, and depends on none.
package admin

import (
	"sync"

	"google.golang.org/grpc"
)

// Service adds a service to a server. The function it returns releases what the service
// holds, once the server has stopped; it may be nil.
type Service func(grpc.ServiceRegistrar) (cleanup func(), err error)

var (
	mu       sync.Mutex
	services []Service
)

// Add announces a service.
func Add(s Service) {
	mu.Lock()
	defer mu.Unlock()
	services = append(services, s)
}

// Register adds all services that were announced to a server. After an error nothing
// is left that would have to be released.
func Register(s grpc.ServiceRegistrar) (cleanup func(), err error) {
	mu.Lock()
	defer mu.Unlock()
	var cleanups []func()
	cleanup = func() {
		for _, f := range cleanups {
			f()
		}
	}
	for _, service := range services {
		f, err := service(s)
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
