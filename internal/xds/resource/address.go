// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"net"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// socketAddress returns the host and port of an address, joined. It accepts a host name,
// although A27 asks for an IP address, because control planes send "localhost".
func socketAddress(a *corev3.Address) (string, error) {
	s := a.GetSocketAddress()
	if s == nil {
		return "", at("socket_address", errors.New("missing"))
	}
	port, err := portOf(s)
	if err != nil {
		return "", at("socket_address", err)
	}
	if s.GetAddress() == "" {
		return "", at("socket_address.address", errors.New("empty"))
	}
	return net.JoinHostPort(s.GetAddress(), strconv.FormatUint(uint64(port), 10)), nil
}

func portOf(s *corev3.SocketAddress) (uint16, error) {
	p, ok := s.GetPortSpecifier().(*corev3.SocketAddress_PortValue)
	if !ok {
		return 0, at("port_value", errors.New("missing"))
	}
	if p.PortValue > 65535 {
		return 0, wrong("port_value", "%d is no port", p.PortValue)
	}
	return uint16(p.PortValue), nil
}
