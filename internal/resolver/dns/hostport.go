// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/grpc/resolver"
)

// defaultPort is the port of an endpoint without a port.
const defaultPort = "443"

// hostPort is a host and a port. The host has no brackets.
type hostPort struct {
	name, port string
}

func parseEndpoint(endpoint string) (hostPort, error) {
	return parse(endpoint, defaultPort)
}

// parse parses host, host:port, :port, an IPv6 address without brackets, or an IPv6 address in
// brackets with or without a port. An empty host means localhost.
func parse(s, portIfNone string) (hostPort, error) {
	if s == "" {
		return hostPort{}, errors.New("dns resolver: missing address")
	}
	// An IPv6 zone may contain any characters, but no port can be added to an address whose zone
	// has brackets.
	if _, err := netip.ParseAddr(s); err == nil && !strings.ContainsAny(s, "[]") {
		return hostPort{name: s, port: portIfNone}, nil
	}
	name, port, err := net.SplitHostPort(s)
	if err != nil {
		// s may be a host without a port. Then it is valid with a port added.
		name, port, err = net.SplitHostPort(s + ":" + portIfNone)
	}
	switch {
	case err != nil:
		return hostPort{}, fmt.Errorf("invalid target address %v, error info: %w", s, err)
	case port == "":
		return hostPort{}, errors.New("dns resolver: missing port after port-separator colon")
	case name == "":
		name = "localhost"
	}
	return hostPort{name: name, port: port}, nil
}

// isIP reports whether the host is an IP address.
func (h hostPort) isIP() bool {
	_, err := netip.ParseAddr(h.name)
	return err == nil
}

// address returns the address of the host's port at ip, which is one of the host's IP addresses.
func (h hostPort) address(ip string) resolver.Address {
	return resolver.Address{Addr: net.JoinHostPort(ip, h.port)}
}
