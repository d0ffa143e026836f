// SPDX-License-Identifier: Apache-2.0

// Package reflection implements server reflection (grpc/doc/server-reflection.md): clients
// such as grpcurl ask a server for its services and their types.
//
//	reflection.Register(server)
//
// Every client of the server can ask.
package reflection

import (
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"

	v1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	v1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
)

// GRPCServer is a server that reflection can be registered on: *grpc.Server, or
// something that wraps it.
type GRPCServer interface {
	grpc.ServiceRegistrar
	ServiceInfoProvider
}

// ServerOptions say where a reflection service gets its data from.
//
// Experimental: this API may change in a later release.
type ServerOptions struct {
	// Services has the services to list. If it is nil, none are listed.
	Services ServiceInfoProvider
	// DescriptorResolver finds files and their declarations. It must be safe for
	// concurrent use. Nil means protoregistry.GlobalFiles, which has the files of all
	// generated code.
	DescriptorResolver protodesc.Resolver
	// ExtensionResolver finds extensions. Nil means protoregistry.GlobalTypes.
	ExtensionResolver ExtensionResolver
}

// Register adds the reflection service to a server, in the versions v1 and v1alpha. Old
// clients need v1alpha. It may be called before or after other services are registered.
func Register(s GRPCServer) {
	RegisterV1(s)
	v1alpha.RegisterServerReflectionServer(s, NewServer(ServerOptions{Services: s}))
}

// RegisterV1 adds the reflection service to a server in version v1 only.
func RegisterV1(s GRPCServer) {
	v1.RegisterServerReflectionServer(s, NewServerV1(ServerOptions{Services: s}))
}

// NewServer returns a reflection service of version v1alpha, for a server that needs
// other options than those of Register. To serve v1 too, use NewServerV1.
//
// Experimental: this API may change in a later release.
func NewServer(opts ServerOptions) v1alpha.ServerReflectionServer {
	return serverV1Alpha{s: newServer(opts)}
}

// NewServerV1 returns a reflection service of version v1, for a server that needs other
// options than those of RegisterV1.
//
// Experimental: this API may change in a later release.
func NewServerV1(opts ServerOptions) v1.ServerReflectionServer {
	return newServer(opts)
}

func newServer(opts ServerOptions) *server {
	if opts.DescriptorResolver == nil {
		opts.DescriptorResolver = protoregistry.GlobalFiles
	}
	if opts.ExtensionResolver == nil {
		opts.ExtensionResolver = protoregistry.GlobalTypes
	}
	return &server{source: source{services: opts.Services, files: opts.DescriptorResolver, extensions: opts.ExtensionResolver}}
}
