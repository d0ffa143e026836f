// SPDX-License-Identifier: Apache-2.0

// Package plane has a control plane for probes: it sends what it has to whoever asks for it,
// and remembers what was refused.
package plane

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"google.golang.org/grpc"
	"google.golang.org/grpc/parity/internal/probe"
)

// Plane is a control plane with one state for all clients.
type Plane struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	Addr string

	mu        sync.Mutex
	resources map[string]*anypb.Any // by type and name
	version   int
	changed   chan struct{} // closed with the next change of what there is
	refusals  []string
	accepted  []string
	node      *corev3.Node
	asked     map[string][]string // the names of the last request, by type
	heard     chan struct{}       // closed with the next verdict
	server    *grpc.Server
}

// Start starts one that has the resources.
func Start(p *probe.P, resources ...proto.Message) *Plane {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := &Plane{Addr: l.Addr().String(), changed: make(chan struct{}), heard: make(chan struct{}), server: grpc.NewServer()}
	s.Set(resources...)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s.server, s)
	go func() { _ = s.server.Serve(l) }()
	p.Cleanup(s.server.Stop)
	return s
}

// Stop ends its connections, and refuses new ones.
func (s *Plane) Stop() { s.server.Stop() }

// Bootstrap is a configuration that names it, with more fields.
func (s *Plane) Bootstrap(more ...string) string {
	server := `{"server_uri":"passthrough:///` + s.Addr + `","channel_creds":[{"type":"insecure"}]}`
	fields := append([]string{`"xds_servers":[` + server + `]`, `"node":{"id":"probe-node"}`, `"server_listener_resource_name_template":"server/%s"`}, more...)
	return "{" + strings.ReplaceAll(strings.Join(fields, ","), "SERVER", server) + "}"
}

// Set makes these all the resources that there are.
func (s *Plane) Set(resources ...proto.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources = make(map[string]*anypb.Any)
	for _, r := range resources {
		name, message := nameOf(r), r
		if w, wrapped := r.(Wrapped); wrapped {
			message = w.Message
		}
		a, is := message.(*anypb.Any)
		if !is {
			a = Any(message)
		}
		s.resources[a.GetTypeUrl()+" "+name] = a
	}
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
}

// Wrapped is a resource with a name of its own: one that is no resource, or garbage.
type Wrapped struct {
	proto.Message
	Name string
}

// Any wraps a message.
func Any(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return a
}

func nameOf(m proto.Message) string {
	if w, is := m.(Wrapped); is {
		return w.Name
	}
	r := m.ProtoReflect()
	for _, name := range []string{"cluster_name", "name"} {
		if f := r.Descriptor().Fields().ByTextName(name); f != nil {
			return r.Get(f).String()
		}
	}
	return ""
}

// session is one stream of a client.
type session struct {
	names map[string][]string // asked for, by type
	sent  map[string]int      // version, by type
}

// StreamAggregatedResources implements the service.
func (s *Plane) StreamAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	requests := make(chan *discoveryv3.DiscoveryRequest)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case requests <- r:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	c := session{names: make(map[string][]string), sent: make(map[string]int)}
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-ended:
			return nil
		case <-stream.Context().Done():
			return nil
		case r := <-requests:
			s.hear(r)
			names := slices.Sorted(slices.Values(r.GetResourceNames()))
			if old, known := c.names[r.GetTypeUrl()]; !known || !slices.Equal(old, names) {
				c.names[r.GetTypeUrl()] = names
				delete(c.sent, r.GetTypeUrl())
			}
		case <-changed:
		}
		if err := s.send(stream, c); err != nil {
			return err
		}
	}
}

// hear notes what a client says of the last response.
func (s *Plane) hear(r *discoveryv3.DiscoveryRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.GetNode() != nil {
		s.node = r.GetNode()
	}
	kind := r.GetTypeUrl()[strings.LastIndexByte(r.GetTypeUrl(), '.')+1:]
	if s.asked == nil {
		s.asked = make(map[string][]string)
	}
	s.asked[kind] = slices.Sorted(slices.Values(r.GetResourceNames()))
	switch {
	case r.GetErrorDetail() != nil:
		s.refusals = append(s.refusals, kind)
	case r.GetResponseNonce() != "":
		s.accepted = append(s.accepted, kind)
	default:
		return
	}
	close(s.heard)
	s.heard = make(chan struct{})
}

// send sends what the client has not got yet.
func (s *Plane) send(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer, c session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, names := range c.names {
		if c.sent[kind] == s.version {
			continue
		}
		c.sent[kind] = s.version
		r := &discoveryv3.DiscoveryResponse{TypeUrl: kind, VersionInfo: fmt.Sprint(s.version), Nonce: fmt.Sprint(s.version, len(names))}
		for _, name := range names {
			if a := s.resources[kind+" "+name]; a != nil {
				r.Resources = append(r.Resources, a)
			}
		}
		whole := strings.HasSuffix(kind, ".Listener") || strings.HasSuffix(kind, ".Cluster")
		if len(r.Resources) == 0 && (!whole || s.version == 1) {
			continue // a client knows by its timer, or a later state, that there is none
		}
		if err := stream.Send(r); err != nil {
			return err
		}
	}
	return nil
}

// Verdict waits for the first verdict on a type of resource, and returns it.
func (s *Plane) Verdict(p *probe.P, kind string) string {
	for {
		s.mu.Lock()
		heard, refused, accepted := s.heard, slices.Contains(s.refusals, kind), slices.Contains(s.accepted, kind)
		s.mu.Unlock()
		switch {
		case refused:
			return "refused"
		case accepted:
			return "accepted"
		}
		select {
		case <-heard:
		case <-p.Context().Done():
			return "nothing heard"
		}
	}
}

// Asked returns the names of a type that a client wants, sorted.
func (s *Plane) Asked(kind string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[kind]
}

// Node is who the client says it is.
func (s *Plane) Node() *corev3.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.node
}
