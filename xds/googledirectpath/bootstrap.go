// SPDX-License-Identifier: Apache-2.0

package googledirectpath

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"

	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

const (
	// authority is the authority in xDS resource names that stands for Google's control plane
	// (A47).
	authority = "traffic-director-c2p.xds.googleapis.com"
	// ipv6Capable is the metadata key that tells the control plane that the machine has an
	// IPv6 address.
	ipv6Capable = "TRAFFICDIRECTOR_DIRECTPATH_C2P_IPV6_CAPABLE"
)

// platform is the machine that the program runs on, and the bootstrap configuration for it.
type platform struct {
	here      func() bool // reports whether targets are resolved by xDS
	metadata  *metadata
	uri       string // of the control plane; "" means Google's
	resolvers func(scheme string) resolver.Builder
	pool      func() *xdsclient.Pool

	mu      sync.Mutex
	pending []*handedOver // resolvers that wait for the configuration; not empty while ask is getting it
	config  *bootstrap.Config
}

type (
	object = map[string]any
	list   = []any
)

// bootstrapFor returns the bootstrap configuration for a machine, in the JSON form of a
// bootstrap file.
func bootstrapFor(m machine, id uint64, uri string) ([]byte, error) {
	servers := list{object{
		"server_uri":      uri,
		"channel_creds":   list{object{"type": "google_default"}},
		"server_features": list{"ignore_resource_deletion"},
	}}
	node := object{"id": fmt.Sprintf("C2P-%d", id), "locality": object{"zone": m.zone}}
	if m.ipv6 {
		node["metadata"] = object{ipv6Capable: true}
	}
	return json.Marshal(object{
		"xds_servers": servers,
		"client_default_listener_resource_name_template": "%s",
		"authorities": object{authority: object{"xds_servers": servers}},
		"node":        node,
	})
}

// configure makes the configuration for a machine and sets it as the fallback of the process.
func (p *platform) configure(m machine) (*bootstrap.Config, error) {
	uri := p.uri
	if uri == "" {
		uri = "dns:///directpath-pa." + currentUniverse()
	}
	text, err := bootstrapFor(m, rand.Uint64N(1<<63), uri)
	if err != nil {
		return nil, err
	}
	config, err := xdsclient.ParseBootstrap(text)
	if err != nil {
		return nil, err
	}
	p.pool().SetFallback(config)
	return config, nil
}

// handOver returns a resolver of scheme xds. It builds the resolver at once if the
// configuration is there. Otherwise it returns a resolver that waits: asking the metadata
// server can take seconds.
func (p *platform) handOver(t resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	h := &handedOver{platform: p, target: t, cc: cc, opts: opts}
	if p.wait(h) {
		return h, nil
	}
	return p.build("xds", t, cc, opts)
}

// wait adds h to those that wait for the configuration. It returns false if the configuration
// is already there.
func (p *platform) wait(h *handedOver) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config != nil {
		return false
	}
	p.pending = append(p.pending, h)
	if len(p.pending) == 1 {
		go p.ask()
	}
	return true
}

// ask gets the facts about the machine, makes the configuration, and starts the resolvers
// that wait for it.
func (p *platform) ask() {
	config, err := p.configure(p.metadata.machine())
	p.mu.Lock()
	p.config = config
	waiting := p.pending
	p.pending = nil
	p.mu.Unlock()
	for _, h := range waiting {
		h.begin(err)
	}
}

// build makes a resolver with the registered builder of another scheme.
func (p *platform) build(scheme string, t resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	b := p.resolvers(scheme)
	if b == nil {
		return nil, fmt.Errorf("google-c2p: no resolver is registered for scheme %q", scheme)
	}
	return b.Build(t, cc, opts)
}

// handedOver is a resolver that passes everything on to a resolver of scheme xds once that
// has been built.
type handedOver struct {
	platform *platform
	target   resolver.Target
	cc       resolver.ClientConn
	opts     resolver.BuildOptions

	mu     sync.Mutex
	closed bool
	real   resolver.Resolver // nil until it has been built
}

// begin builds the real resolver, which may call the channel at once, and this resolver
// through the channel.
func (h *handedOver) begin(err error) {
	h.mu.Lock()
	closed := h.closed
	h.mu.Unlock()
	if closed {
		return
	}
	var r resolver.Resolver
	if err == nil {
		r, err = h.platform.build("xds", h.target, h.cc, h.opts)
	}
	if err != nil {
		h.cc.ReportError(fmt.Errorf("google-c2p: %w", err))
		return
	}
	h.mu.Lock()
	closed, h.real = h.closed, r
	h.mu.Unlock()
	if closed {
		r.Close()
	}
}

// ResolveNow implements resolver.Resolver.
func (h *handedOver) ResolveNow(o resolver.ResolveNowOptions) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.real != nil {
		h.real.ResolveNow(o)
	}
}

// Close implements resolver.Resolver.
func (h *handedOver) Close() {
	h.mu.Lock()
	r := h.real
	h.closed = true
	h.mu.Unlock()
	if r != nil {
		r.Close()
	}
}
