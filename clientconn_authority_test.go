// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// mute are credentials that can't tell what a server may act as.
type mute struct {
	credentials.TransportCredentials
}

type muteInfo struct{ credentials.CommonAuthInfo }

func (muteInfo) AuthType() string { return "mute" }

func (m mute) Clone() credentials.TransportCredentials { return mute{m.TransportCredentials.Clone()} }

func (m mute) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, _, err := m.TransportCredentials.ClientHandshake(ctx, authority, raw)
	return conn, muteInfo{}, err
}

// TestPickersAuthorityIsChecked: a server has to prove that it may act under the name that a picker
// has for an RPC (A81), as under that of CallAuthority, which comes first.
func TestPickersAuthorityIsChecked(t *testing.T) {
	cert, pool := testutils.Certificate(t)
	var got metadata.MD
	s := serve(t, incoming(&got), Creds(credentials.NewServerTLSFromCert(&cert)))
	client := credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "test.server"})
	for _, tt := range []struct {
		name   string
		picked string
		call   []CallOption
		creds  credentials.TransportCredentials
		want   codes.Code
	}{
		{"the server's", "test.server:443", nil, client, codes.OK},
		{"another", "other.server", nil, client, codes.Unavailable},
		{"the call's comes first", "other.server", []CallOption{CallAuthority("test.server")}, client, codes.OK},
		{"the call's is another", "test.server", []CallOption{CallAuthority("other.server")}, client, codes.Unavailable},
		{"nobody can tell", "test.server", nil, mute{client}, codes.Unavailable},
		{"none", "", nil, mute{client}, codes.OK},
	} {
		got = nil
		cc := scriptedChannel(t, s.addr, func(s *scripted, state balancer.ClientConnState) error {
			result := balancer.PickResult{Metadata: metadata.MD{":authority": {tt.picked}}}
			sc, err := s.subConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{}, pickOf(result))
			sc.Connect()
			return err
		}, WithTransportCredentials(tt.creds))
		if err := call(testContext(t), cc, "x", tt.call...); status.Code(err) != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if (got != nil) != (tt.want == codes.OK) {
			t.Errorf("%s: the server has seen %v", tt.name, got)
		}
	}
}
