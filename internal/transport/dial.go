// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net"
	"strings"

	"google.golang.org/grpc/internal/resolver/networktype"
	"google.golang.org/grpc/resolver"
)

func dial(ctx context.Context, addr resolver.Address, by DialFunc) (net.Conn, error) {
	network, known := networktype.Get(addr)
	if by != nil {
		// A dialer of the user's gets no network: the address says it.
		if network == "unix" {
			addr.Addr = withScheme(addr.Addr)
		}
		return by(ctx, addr.Addr)
	}
	if !known {
		network, addr.Addr = networkOf(addr.Addr)
	}
	return systemDialer.DialContext(ctx, network, addr.Addr)
}

// withScheme is the inverse of networkOf for the address of a unix socket. Programs cut
// "unix://" off absolute paths, so it has to be there.
func withScheme(addr string) string {
	switch {
	case strings.HasPrefix(addr, "@"), strings.HasPrefix(addr, "\x00"):
		return "unix:@" + addr[1:]
	case strings.HasPrefix(addr, "/"):
		return "unix://" + addr
	}
	return "unix:" + addr
}

// networkOf returns the network of addr, and addr without the scheme that the addresses of unix sockets
// carry.
func networkOf(addr string) (network, address string) {
	if rest, ok := strings.CutPrefix(addr, "unix-abstract:"); ok {
		return "unix", "\x00" + rest
	}
	if rest, ok := strings.CutPrefix(addr, "unix:"); ok {
		if path, ok := strings.CutPrefix(rest, "//"); ok {
			rest = path
		}
		return "unix", rest
	}
	return "tcp", addr
}

// systemDialer leaves TCP keepalive to the system's settings rather than to
// Go's, which would wake every idle connection four times a minute.
var systemDialer = net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: -1, Interval: -1, Count: -1}}
