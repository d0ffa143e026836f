// SPDX-License-Identifier: Apache-2.0

// Package bootstrap reads the bootstrap configuration. This tells a program's xDS clients which
// control planes there are, and how the program identifies itself to them (gRFC A27, with the
// additions of A29, A36, A47, A53, A65, A71, A81, A88, A97 and A102). The values that the package
// returns never change, and hold no connection, file or goroutine.
package bootstrap

import (
	"fmt"
	"maps"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/protobuf/proto"
)

// Config is a bootstrap configuration. Callers must not change what it holds.
type Config struct {
	// Servers are the control planes for names without an authority, and for authorities that have
	// no servers of their own. The client uses the first one, and falls back to the others in order
	// if it can't be reached (A71). There is at least one.
	Servers []*Server
	// Authorities are the federation authorities by name (A47).
	Authorities map[string]*Authority
	// ClientTemplate is the template for the name of the Listener of a target without an authority.
	// It is never empty.
	ClientTemplate string
	// ServerTemplate is the template for the name of the Listener of a server's listening address.
	// If it is empty, no xDS server can be made (A36).
	ServerTemplate string
	// CertProviders are the certificate provider instances that resources may name (A29).
	CertProviders map[string]*certprovider.BuildableConfig
	// Services are the servers that filters may call, by target, with the credentials to use. They
	// are for control planes that are not trusted to choose credentials (A102).
	Services map[string]*Service

	node *corev3.Node
}

// Authority is the configuration of one federation authority.
type Authority struct {
	// ClientTemplate is the template for the name of a target's Listener. It is never empty.
	ClientTemplate string
	// Servers are the control planes of the authority. They are those of the Config if the authority
	// has none of its own.
	Servers []*Server
}

// Node returns a copy of the message that identifies this client to control planes.
func (c *Config) Node() *corev3.Node { return proto.CloneOf(c.node) }

// NodeID returns the id of the node.
func (c *Config) NodeID() string { return c.node.GetId() }

// NodeLabel returns what errors begin with, so that operators can find the node among many nodes.
func (c *Config) NodeLabel() string { return "[xDS node id: " + c.NodeID() + "]" }

// AuthorityServers returns the control planes of a federation authority, or nil if there is no such
// authority.
func (c *Config) AuthorityServers(name string) []*Server {
	a, ok := c.Authorities[name]
	if !ok {
		return nil
	}
	return a.Servers
}

// AllServers returns all control planes by their Key. Servers with the same Key occur once.
func (c *Config) AllServers() map[string]*Server {
	all := make(map[string]*Server)
	collect := func(list []*Server) {
		for _, s := range list {
			if _, ok := all[s.key]; !ok {
				all[s.key] = s
			}
		}
	}
	collect(c.Servers)
	for a := range maps.Values(c.Authorities) {
		collect(a.Servers)
	}
	return all
}

// KnowsCertProvider reports whether resources may name this certificate provider instance.
func (c *Config) KnowsCertProvider(instance string) bool {
	_, ok := c.CertProviders[instance]
	return ok
}

// String returns a description for logs. It does not show configurations of credentials.
func (c *Config) String() string {
	return fmt.Sprintf("node %q, servers %v, %d authorities", c.NodeID(), c.Servers, len(c.Authorities))
}
