// SPDX-License-Identifier: Apache-2.0

// Package bootstrap reads the configuration that tells a program's xDS clients which control
// planes there are and who the program is (gRFC A27, with what A29, A36, A47, A53, A65, A71, A81,
// A88, A97 and A102 add). What it returns never changes, and holds no connection, file or goroutine.
package bootstrap

import (
	"fmt"
	"maps"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/protobuf/proto"
)

// Config is a bootstrap configuration. Nobody may change what it holds.
type Config struct {
	// Servers are the control planes for names without an authority, and for authorities that
	// name none. The first is asked first, the others in turn if it can't be reached (A71). There
	// is at least one.
	Servers []*Server
	// Authorities are those of federation, by name (A47).
	Authorities map[string]*Authority
	// ClientTemplate makes the name of a Listener from a target without an authority; it is never
	// empty.
	ClientTemplate string
	// ServerTemplate makes the name of a Listener from the address that a server listens on. An
	// xDS server can't be made if it is empty (A36).
	ServerTemplate string
	// CertProviders are the instances of certificate providers that resources may name (A29).
	CertProviders map[string]*certprovider.BuildableConfig
	// Services are the servers that filters may show RPCs to, by target, with the credentials to
	// use, for control planes that are not trusted to choose them (A102).
	Services map[string]*Service

	node *corev3.Node
	json []byte
}

// Authority is what there is for one authority of federation.
type Authority struct {
	// ClientTemplate makes the name of a Listener from a target; it is never empty.
	ClientTemplate string
	// Servers are the control planes; they are those of the Config if the authority names none.
	Servers []*Server
}

// Node returns a copy of what identifies this client to control planes.
func (c *Config) Node() *corev3.Node { return proto.CloneOf(c.node) }

// NodeID returns the id of the node.
func (c *Config) NodeID() string { return c.node.GetId() }

// JSON returns the text that the configuration was read from.
func (c *Config) JSON() []byte { return c.json }

// AuthorityServers returns the control planes of an authority of federation, nil if there is no
// such authority.
func (c *Config) AuthorityServers(name string) []*Server {
	a, ok := c.Authorities[name]
	if !ok {
		return nil
	}
	return a.Servers
}

// AllServers returns each control plane once: two servers with the same Key are one.
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

// KnowsCertProvider reports whether resources may name the instance of a certificate provider.
func (c *Config) KnowsCertProvider(instance string) bool {
	_, ok := c.CertProviders[instance]
	return ok
}

// String is for logs; it shows no configuration of credentials.
func (c *Config) String() string {
	return fmt.Sprintf("node %q, servers %v, %d authorities", c.NodeID(), c.Servers, len(c.Authorities))
}
