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

// defaultPort is the port of an endpoint that names none.
const defaultPort = "443"

// hostPort is a host, without brackets, and a port.
type hostPort struct {
	name, port string
}

func parseEndpoint(endpoint string) (hostPort, error) {
	return parse(endpoint, defaultPort)
}

// parse reads host, host:port, :port, an IPv6 address without brackets, or one with
// brackets and maybe a port. An empty host is localhost.
func parse(s, portIfNone string) (hostPort, error) {
	if s == "" {
		return hostPort{}, errors.New("dns resolver: missing address")
	}
	// A zone may hold anything, but with brackets in it there is no way to add a port.
	if _, err := netip.ParseAddr(s); err == nil && !strings.ContainsAny(s, "[]") {
		return hostPort{name: s, port: portIfNone}, nil
	}
	name, port, err := net.SplitHostPort(s)
	if err != nil {
		// It may be a host alone; then it is good with a port.
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

// isIP says whether the host is an address already.
func (h hostPort) isIP() bool {
	_, err := netip.ParseAddr(h.name)
	return err == nil
}

// address is the host's port at one of its addresses.
func (h hostPort) address(ip string) resolver.Address {
	return resolver.Address{Addr: net.JoinHostPort(ip, h.port)}
}
