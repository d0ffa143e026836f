// SPDX-License-Identifier: Apache-2.0

package grpc

import "context"

// MethodHandler is the function that generated code has for a unary method. It
// decodes the request by calling dec with a new message, and calls the method of
// srv, through interceptor where that is not nil.
type MethodHandler func(srv any, ctx context.Context, dec func(any) error, interceptor UnaryServerInterceptor) (any, error)

// MethodDesc is a unary method of a service.
type MethodDesc struct {
	// MethodName is the name without the service's.
	MethodName string
	Handler    MethodHandler
}

// ServiceDesc describes a service to [Server.RegisterService]. It is generated.
type ServiceDesc struct {
	// ServiceName is the full name, "package.Service".
	ServiceName string
	// HandlerType is a nil pointer to the interface that implementations have to
	// satisfy. nil: any will do.
	HandlerType any
	Methods     []MethodDesc
	Streams     []StreamDesc
	// Metadata is not used here; GetServiceInfo passes it on. In generated code it
	// is the name of the .proto file.
	Metadata any
}

// ServiceRegistrar takes services. [Server] is one; generated code asks for no more
// than this, so that other servers can be given services too.
type ServiceRegistrar interface {
	// RegisterService adds a service and its implementation. It must not be called
	// once the server serves.
	RegisterService(desc *ServiceDesc, impl any)
}

// MethodInfo describes a method that a server has.
type MethodInfo struct {
	// Name is the name without the service's.
	Name string
	// IsClientStream says that the client may send more than one message.
	IsClientStream bool
	// IsServerStream says that the server may send more than one message.
	IsServerStream bool
}

// ServiceInfo describes a service that a server has.
type ServiceInfo struct {
	Methods []MethodInfo
	// Metadata is that of the ServiceDesc.
	Metadata any
}

// method is what is registered under one full name: a unary method or a streaming
// one.
type method struct {
	full   string
	impl   any
	unary  *MethodDesc
	stream *StreamDesc
}

// Path implements transport.Method.
func (m *method) Path() string { return m.full }

// streamInfo is what interceptors are told.
func (m *method) streamInfo() *StreamServerInfo {
	client, server := m.streams()
	return &StreamServerInfo{FullMethod: m.full, IsClientStream: client, IsServerStream: server}
}

// streams says which sides of the method may send more than one message.
func (m *method) streams() (client, server bool) {
	if m.stream == nil {
		return false, false
	}
	return m.stream.ClientStreams, m.stream.ServerStreams
}
