// SPDX-License-Identifier: Apache-2.0

// Package peer has information about the other end of an RPC.
package peer

import (
	"context"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/ctxkey"
)

// Peer is the other end of an RPC. It must not be changed.
type Peer struct {
	// Addr is the peer's address.
	Addr net.Addr
	// LocalAddr is the local address of the connection.
	LocalAddr net.Addr
	// AuthInfo is what the handshake found out about the peer. It is nil if there was no handshake.
	AuthInfo credentials.AuthInfo
}

// String returns the addresses and the type of authentication. It contains no secrets.
func (p *Peer) String() string {
	if p == nil {
		return "Peer<nil>"
	}
	var b strings.Builder
	b.WriteString("Peer{")
	fmt.Fprintf(&b, "Addr: %s, LocalAddr: %s, ", addrText(p.Addr), addrText(p.LocalAddr))
	if p.AuthInfo == nil {
		b.WriteString("AuthInfo: <nil>}")
	} else {
		fmt.Fprintf(&b, "AuthInfo: '%s'}", p.AuthInfo.AuthType())
	}
	return b.String()
}

// NewContext returns a context with the peer p.
func NewContext(ctx context.Context, p *Peer) context.Context {
	return context.WithValue(ctx, ctxkey.Peer{}, p)
}

// FromContext returns the peer of the RPC whose handler got ctx. The bool is false if ctx has none.
func FromContext(ctx context.Context) (*Peer, bool) {
	p, ok := ctx.Value(ctxkey.Peer{}).(*Peer)
	return p, ok
}

func addrText(a net.Addr) string {
	if a == nil {
		return "<nil>"
	}
	return "'" + a.String() + "'"
}
