// SPDX-License-Identifier: Apache-2.0

package peer_test

import (
	"net"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

func TestContext(t *testing.T) {
	if p, ok := peer.FromContext(t.Context()); ok || p != nil {
		t.Errorf("without: %v %v", p, ok)
	}
	p := &peer.Peer{}
	if got, ok := peer.FromContext(peer.NewContext(t.Context(), p)); !ok || got != p {
		t.Errorf("with: %v %v", got, ok)
	}
}

func TestString(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	for _, tt := range []struct {
		p    *peer.Peer
		want string
	}{
		{nil, "Peer<nil>"},
		{&peer.Peer{}, "Peer{Addr: <nil>, LocalAddr: <nil>, AuthInfo: <nil>}"},
		{
			&peer.Peer{Addr: addr, LocalAddr: addr, AuthInfo: credentials.TLSInfo{}},
			"Peer{Addr: '127.0.0.1:80', LocalAddr: '127.0.0.1:80', AuthInfo: 'tls'}",
		},
	} {
		if got := tt.p.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
