// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"errors"
	"fmt"
	"net/url"

	"google.golang.org/grpc/internal/resolver/scheme"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// nameWatch is the watch of a DNS name (A37). It is the resolver.ClientConn of the name's
// resolver. The agenda's mutex guards it.
type nameWatch struct {
	agenda   *agenda
	name     string // with the port
	resolver resolver.Resolver
	gone     bool
	need

	endpoints *resource.Endpoints // nil if there are none
	err       error               // the error of the last lookup; nil if it succeeded or there was none yet
}

// known reports whether a lookup has succeeded or failed.
func (n *nameWatch) known() bool { return n.endpoints != nil || n.err != nil }

// start builds the resolver, which may call n at once. The agenda's mutex must not be held.
func (n *nameWatch) start(opts resolver.BuildOptions) {
	var r resolver.Resolver
	b, err := resolver.Get(scheme.DNS), error(nil)
	if b == nil {
		err = errors.New("no resolver is registered for dns")
	} else {
		opts.DisableServiceConfig = true
		target := resolver.Target{URL: url.URL{Scheme: scheme.DNS, Path: "/" + n.name}}
		r, err = b.Build(target, n, opts)
	}
	if err != nil {
		n.ReportError(err)
		return
	}
	n.agenda.mu.Lock()
	n.resolver = r
	gone := n.gone
	n.agenda.mu.Unlock()
	if gone {
		r.Close()
	}
}

// stopLocked ends the watch and returns the resolver, or nil if there is none yet. The caller
// must close the resolver after it has released the mutex.
func (n *nameWatch) stopLocked() resolver.Resolver {
	n.gone = true
	return n.resolver
}

// UpdateState implements resolver.ClientConn. All addresses form one endpoint (A61).
func (n *nameWatch) UpdateState(s resolver.State) error {
	var addresses []string
	for _, e := range s.Endpoints {
		for _, a := range e.Addresses {
			addresses = append(addresses, a.Addr)
		}
	}
	if len(s.Endpoints) == 0 {
		for _, a := range s.Addresses {
			addresses = append(addresses, a.Addr)
		}
	}
	if len(addresses) == 0 {
		n.change(nil, fmt.Errorf("DNS name %q has no addresses", n.name))
		return nil
	}
	one := resource.Endpoint{Address: addresses[0], MoreAddresses: addresses[1:], Hostname: n.name, Weight: 1}
	n.change(&resource.Endpoints{
		Name: n.name, Localities: []resource.Locality{{Weight: 1, Endpoints: []resource.Endpoint{one}}},
	}, nil)
	return nil
}

// ReportError implements resolver.ClientConn. Addresses from an earlier lookup stay in use.
func (n *nameWatch) ReportError(err error) { n.change(nil, fmt.Errorf("DNS name %q: %w", n.name, err)) }

func (n *nameWatch) change(e *resource.Endpoints, err error) {
	n.agenda.mu.Lock()
	defer n.agenda.mu.Unlock()
	if n.gone {
		return
	}
	if n.err = err; e != nil {
		n.endpoints = e
	}
	n.agenda.touchLocked()
}

// NewAddress implements resolver.ClientConn.
func (n *nameWatch) NewAddress(list []resolver.Address) {
	_ = n.UpdateState(resolver.State{Addresses: list})
}

// ParseServiceConfig implements resolver.ClientConn. The service config of a name is ignored.
func (n *nameWatch) ParseServiceConfig(string) *serviceconfig.ParseResult {
	return &serviceconfig.ParseResult{Err: errors.New("a cluster's name has no service config")}
}
