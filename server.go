// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
)

// ErrServerStopped is what Serve returns when the server was stopped before.
var ErrServerStopped = errors.New("grpc: the server has been stopped")

// Server serves RPCs. Make it with [NewServer]. Its methods may be called by any
// goroutine.
type Server struct {
	opts     serverOptions
	host     transport.ServerHost // what connections have in common
	unwatch  func()               // ends the reports of package footprint to the metrics recorders; nil: there are none
	channelz *channelz.Node
	running  handlerCount

	beginDrain context.CancelFunc // ends host.Drain

	// Changed by RegisterService only, which mu orders before Serve.
	services map[string]*serviceInfo
	methods  map[string]*method // by "/package.Service/Method"

	mu        sync.Mutex // guards what follows; nothing that can wait happens under it
	empty     sync.Cond  // signalled when the last of conns goes
	state     serverState
	begun     bool // Serve or ServeHTTP was called
	listeners map[*served]struct{}
	// handshakes are the connections that are not among conns yet.
	handshakes map[*handshake]struct{}
	conns      connSet
	starting   map[*transport.Server]struct{} // those of conns whose Start has not returned
	httpCalls  map[*transport.HandlerStream]struct{}

	stopOnce sync.Once
	stopped  chan struct{} // closed when the first Stop or GracefulStop has done its work
}

// serverState only grows.
type serverState uint8

const (
	serverRunning serverState = iota
	serverDraining
	serverStopped
)

// serverHandler is the Server as the handler of its connections.
type serverHandler Server

// NewServer returns a server that has no services and accepts nothing yet.
func NewServer(opt ...ServerOption) *Server {
	opts := defaultServerOptions()
	plugins := telemetry.Global()
	opts.telemetry, opts.stats = slices.Clip(plugins.Servers), slices.Clip(plugins.ServerHandlers)
	for _, o := range globalServerOptions() {
		opts.add(o)
	}
	for _, o := range opt {
		opts.add(o)
	}
	opts.finish()
	s := &Server{
		opts:       opts,
		services:   make(map[string]*serviceInfo),
		methods:    make(map[string]*method),
		listeners:  make(map[*served]struct{}),
		handshakes: make(map[*handshake]struct{}),
		starting:   make(map[*transport.Server]struct{}),
		httpCalls:  make(map[*transport.HandlerStream]struct{}),
		stopped:    make(chan struct{}),
	}
	s.opts.transport.Known = s.known
	s.host = transport.ServerHost{ServerConfig: &s.opts.transport, Handler: (*serverHandler)(s)}
	s.host.Drain, s.beginDrain = context.WithCancel(context.Background())
	s.unwatch = footprint.Register(opts.stats, opts.telemetry.Recorders()...)
	if r, ok := opts.rpcConfig.(rpcconfig.Recording); ok {
		r.SetRecorders(opts.stats, opts.telemetry.Recorders())
	}
	s.empty.L = &s.mu
	s.running.none.L = &s.running.mu
	if channelz.IsOn() {
		s.channelz = channelz.NewNode(nil, channelz.Server, callerOfNewServer())
	}
	s.handControl()
	return s
}

// callerOfNewServer names a server in channelz: "file.go:line".
func callerOfNewServer() string {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return ""
	}
	return file + ":" + strconv.Itoa(line)
}

// serviceInfo is a registered service.
type serviceInfo struct {
	desc *ServiceDesc
	impl any
}

// RegisterService adds a service, whose implementation is impl, to the server. It
// must be called before Serve. Like generated code it is for the program's start:
// it ends the program if the server serves already, if it has a service of the
// name, or if impl does not have the methods that it needs.
func (s *Server) RegisterService(desc *ServiceDesc, impl any) {
	if impl != nil && desc.HandlerType != nil {
		want := reflect.TypeOf(desc.HandlerType).Elem()
		if have := reflect.TypeOf(impl); !have.Implements(want) {
			logger.Fatalf("grpc: the implementation of service %s has type %v, which does not implement %v", desc.ServiceName, have, want)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		logger.Fatalf("grpc: RegisterService after Serve, for service %s", desc.ServiceName)
	}
	if _, twice := s.services[desc.ServiceName]; twice {
		logger.Fatalf("grpc: service %s is registered already", desc.ServiceName)
	}
	s.services[desc.ServiceName] = &serviceInfo{desc, impl}
	for i := range desc.Methods {
		d := &desc.Methods[i]
		s.addMethod(desc.ServiceName, d.MethodName, &method{impl: impl, unary: d})
	}
	for i := range desc.Streams {
		d := &desc.Streams[i]
		s.addMethod(desc.ServiceName, d.StreamName, &method{impl: impl, stream: d})
	}
}

func (s *Server) addMethod(service, name string, m *method) {
	m.full = "/" + service + "/" + name
	s.methods[m.full] = m
}

// known returns the method of a path, nil if nobody serves it.
func (s *Server) known(path []byte) transport.Method {
	if m := s.methods[string(path)]; m != nil {
		return m
	}
	return nil
}

// called is a call, as far as the choice of its method goes.
type called interface {
	Method() string
	Known() transport.Method // may be nil
}

// methodOf returns the method that is called, nil if nobody serves it.
func (s *Server) methodOf(st called) *method {
	if m, ok := st.Known().(*method); ok {
		return m
	}
	path := st.Method()
	if m := s.methods[path]; m != nil || path == "" || path[0] == '/' {
		return m
	}
	return s.methods["/"+path] // the transport lets it pass only where the environment says so
}

// GetServiceInfo describes the services that are registered, by their names.
func (s *Server) GetServiceInfo() map[string]ServiceInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]ServiceInfo, len(s.services))
	for name, service := range s.services {
		d := service.desc
		methods := make([]MethodInfo, 0, len(d.Methods)+len(d.Streams))
		for i := range d.Methods {
			methods = append(methods, MethodInfo{Name: d.Methods[i].MethodName})
		}
		for i := range d.Streams {
			methods = append(methods, MethodInfo{
				Name:           d.Streams[i].StreamName,
				IsClientStream: d.Streams[i].ClientStreams,
				IsServerStream: d.Streams[i].ServerStreams,
			})
		}
		all[name] = ServiceInfo{Methods: methods, Metadata: d.Metadata}
	}
	return all
}
