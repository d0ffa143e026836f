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
	"sync/atomic"
	"time"
	"unsafe"

	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/tally"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/peer"
)

// ErrServerStopped is what Serve returns if the server was stopped before the call.
var ErrServerStopped = errors.New("grpc: the server has been stopped")

// Server serves RPCs. [NewServer] makes one. Several goroutines may call its methods at the same
// time.
type Server struct {
	opts     serverOptions
	host     transport.ServerHost // what all connections share
	unwatch  func()               // stops package footprint from reporting to the metrics recorders; may be nil
	channelz *channelz.Node
	running  handlerCount

	beginDrain context.CancelFunc // cancels host.Drain

	// Only RegisterService changes these. It is called before Serve; mu orders the two.
	services map[string]*serviceInfo
	methods  map[string]*method // by "/package.Service/Method"

	mu    sync.Mutex // guards what follows; a goroutine that holds it never waits
	empty sync.Cond  // signalled when openConns has become 0
	state serverState
	begun bool // Serve or ServeHTTP was called
	// leavesSilent says that a drain does not wait for connections whose client has said nothing: see controlledServer.
	leavesSilent bool
	listeners    map[*served]struct{}
	// handshakes are the connections that are not yet in conns. Stop closes them, and GracefulStop those that take
	// longer than handshakePatience.
	handshakes map[*handshake]struct{}
	shaking    int // handshakes whose credentials or stats handlers may still run
	conns      connSet
	telling    int                            // connections that are gone, while stats handlers and their RPCs are told of it
	starting   map[*transport.Server]struct{} // the connections in conns whose Start has not returned
	httpCalls  map[*transport.HandlerStream]struct{}
	most       struct{ handshakes, starting, httpCalls int } // see shrink.Delete

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

// serverHandler implements transport.ServerHandler for a Server.
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

// callerOfNewServer returns where NewServer was called, as "file.go:line". channelz shows it as the server's name.
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

// RegisterService adds a service, whose implementation is impl, to the server. It must be called before
// Serve. Like generated code, which calls it, it is meant for the program's start: it ends the program
// if the server already serves, if a service of that name is registered, or if impl lacks methods of
// the service.
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

// known returns the method of a path, or nil if the server has none.
func (s *Server) known(path []byte) transport.Method {
	if m := s.methods[string(path)]; m != nil {
		return m
	}
	return nil
}

// called is what methodOf needs to know of a call.
type called interface {
	Method() string
	Known() transport.Method // may be nil
}

// methodOf returns the method that st calls, or nil if the server has none.
func (s *Server) methodOf(st called) *method {
	if m, ok := st.Known().(*method); ok {
		return m
	}
	path := st.Method()
	if m := s.methods[path]; m != nil || path == "" || path[0] == '/' {
		return m
	}
	return s.methods["/"+path] // the transport accepts such a path only if the environment says so
}

// GetServiceInfo describes the registered services. The map's keys are their names.
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

var errStopping = errors.New("the server was stopped")

// drainReason is the debug text of the GOAWAY frames that GracefulStop sends.
const drainReason = "graceful_stop"

// handshakePatience is how long a handshake may go on after GracefulStop: as long as a client may take then to
// answer the PING of a drain.
const handshakePatience = 5 * time.Second

// Stop closes all listeners and connections, and returns when they are gone. RPCs that are under way
// fail with codes.Unavailable at their clients, and the contexts of their handlers are cancelled; see
// also [WaitForHandlers]. Stop may be called more than once, and while GracefulStop runs, which then
// returns sooner. Both wait for handshakes to end: credentials and what a stats handler does with a connection must
// not call them.
func (s *Server) Stop() {
	for _, c := range s.enter(serverStopped) {
		c.Close(errStopping)
	}
	s.cancelHTTP()
	s.awaitConns()
	if s.opts.waitForHandlers {
		s.running.wait()
	}
	s.markStopped()
}

// GracefulStop closes all listeners, tells the clients to begin no new RPCs on their connections, and
// serves the RPCs that are under way to their end, also those that the clients of connections whose handshake was
// not over, and is within 5 s, begin before they are told. It returns when the connections and the handlers are gone. It may be called
// more than once.
func (s *Server) GracefulStop() {
	for _, c := range s.enter(serverDraining) {
		c.Drain(drainReason)
	}
	s.awaitConns()
	s.enter(serverStopped)
	s.running.wait()
	s.markStopped()
}

func (s *Server) markStopped() {
	s.stopOnce.Do(func() {
		defer close(s.stopped) // also if a recorder's function does not return
		defer s.channelz.Close()
		if s.unwatch != nil {
			s.unwatch()
		}
	})
}

// enter moves the server to state, unless it is past that. It closes the listeners, and sees to it that the handshakes
// end: at once if the server is stopped now, otherwise in handshakePatience. It returns the connections that have started.
func (s *Server) enter(state serverState) []*transport.Server {
	s.mu.Lock()
	s.state = max(s.state, state)
	if s.state == serverStopped {
		s.running.refuse()
	}
	conns := make([]*transport.Server, 0, s.conns.len())
	for _, c := range s.conns.list {
		if _, early := s.starting[c]; !early { // started ends those
			conns = append(conns, c)
		}
	}
	listeners := s.listeners
	s.listeners = make(map[*served]struct{})
	stopped, shaking := s.state == serverStopped, len(s.handshakes) > 0
	s.mu.Unlock()
	s.beginDrain()
	for l := range listeners {
		l.close()
	}
	switch {
	case stopped:
		s.closeHandshakes()
	case shaking:
		time.AfterFunc(handshakePatience, s.closeHandshakes)
	}
	return conns
}

// closeHandshakes closes the connections whose handshake is not over. There must be no new ones any more.
func (s *Server) closeHandshakes() {
	s.mu.Lock()
	handshakes := s.handshakes
	s.handshakes = make(map[*handshake]struct{})
	s.mu.Unlock()
	for h := range handshakes {
		_ = h.raw.Close()
	}
}

// awaitConns waits until there are no connections. The state must be past serverRunning, so no new ones
// come.
func (s *Server) awaitConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.openConns() > 0 {
		s.empty.Wait()
	}
}

// openConns returns how many connections a wait for their end has to wait for. The caller must hold mu.
func (s *Server) openConns() int { return s.conns.len() + s.telling + s.shaking }

// cancelHTTP ends the contexts of the calls behind net/http. Their connections belong to net/http, so the
// server does not close them.
func (s *Server) cancelHTTP() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.httpCalls {
		c.Cancel()
	}
}

// MethodHandler is the function that generated code has for a unary method. It calls dec with a new
// message to decode the request, and then the method of srv, through interceptor if that is not nil.
type MethodHandler func(srv any, ctx context.Context, dec func(any) error, interceptor UnaryServerInterceptor) (any, error)

// MethodDesc is a unary method of a service.
type MethodDesc struct {
	// MethodName is the name without the service's.
	MethodName string
	Handler    MethodHandler
}

// ServiceDesc describes a service to [Server.RegisterService]. Generated code has one for each service.
type ServiceDesc struct {
	// ServiceName is the full name, "package.Service".
	ServiceName string
	// HandlerType is a nil pointer to the interface that implementations must satisfy. If
	// HandlerType is nil, any type will do.
	HandlerType any
	Methods     []MethodDesc
	Streams     []StreamDesc
	// Metadata is not used here, but GetServiceInfo returns it. In generated code it is the name
	// of the .proto file.
	Metadata any
}

// ServiceRegistrar is what generated code registers services with. [Server] implements it; other servers
// can too.
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

// method is a method that is registered under its full name. Either unary or stream is set.
type method struct {
	full   string
	impl   any
	unary  *MethodDesc
	stream *StreamDesc
}

// Path implements transport.Method.
func (m *method) Path() string { return m.full }

// streamInfo returns what interceptors are told of the method.
func (m *method) streamInfo() *StreamServerInfo {
	client, server := m.streams()
	return &StreamServerInfo{FullMethod: m.full, IsClientStream: client, IsServerStream: server}
}

// streams reports which sides of the method may send more than one message.
func (m *method) streams() (client, server bool) {
	if m.stream == nil {
		return false, false
	}
	return m.stream.ClientStreams, m.stream.ServerStreams
}

// handlerCount counts the handlers that run. As long as nobody waits, enter and leave cost one atomic
// operation each, on a shard of the counter that all calls of one connection use.
type handlerCount struct {
	n       tally.Tally
	refused atomic.Bool // no more may enter

	mu   sync.Mutex
	none sync.Cond
}

// enter reports whether a handler may run for a call from p. If it may, leave must follow.
func (h *handlerCount) enter(p *peer.Peer) bool {
	h.n.At(unsafe.Pointer(p)).Add(1)
	// A goroutine that waits sets refused before it looks at n. So either it sees this handler in n,
	// or this handler sees refused.
	if h.refused.Load() {
		h.leave(p)
		return false
	}
	return true
}

func (h *handlerCount) leave(p *peer.Peer) {
	h.n.At(unsafe.Pointer(p)).Add(-1)
	if h.refused.Load() {
		h.mu.Lock()
		h.none.Broadcast()
		h.mu.Unlock()
	}
}

func (h *handlerCount) refuse() { h.refused.Store(true) }

// wait waits until no handler runs. refuse must be called before.
func (h *handlerCount) wait() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.n.Sum() > 0 {
		h.none.Wait()
	}
}
