// SPDX-License-Identifier: Apache-2.0

// Package peer tells who is at the other end of an RPC.
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
	// LocalAddr is our own address of the connection.
	LocalAddr net.Addr
	// AuthInfo is what the handshake learned of the peer, nil if there was none.
	AuthInfo credentials.AuthInfo
}

// String shows the addresses and the kind of authentication, and no secrets.
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

// NewContext returns a context that holds p.
func NewContext(ctx context.Context, p *Peer) context.Context {
	return context.WithValue(ctx, ctxkey.Peer{}, p)
}

// FromContext returns the peer of the RPC that a server's handler was given ctx
// for. It is false where ctx has none.
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
