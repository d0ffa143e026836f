// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

type (
	fromResolver struct{}
	fromPolicy   struct{}
)

// attributeCreds keep the attributes of the address that the handshake is with.
type attributeCreds struct {
	credentials.TransportCredentials
	seen chan *attributes.Attributes
}

func (c attributeCreds) Clone() credentials.TransportCredentials { return c }

func (c attributeCreds) ClientHandshake(ctx context.Context, authority string, nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	select {
	case c.seen <- credentials.ClientHandshakeInfoFromContext(ctx).Attributes:
	default:
	}
	return c.TransportCredentials.ClientHandshake(ctx, authority, nc)
}

var policyMetric = estats.RegisterInt64Count(estats.MetricDescriptor{
	Name: "grpc.test.policy_updates", Unit: "{update}", Labels: []string{"grpc.target"}, Default: true,
})

// TestPolicySeams: a resolver's attributes, of its state and of endpoints, come to a policy;
// the policy's, of an address, to the handshake; and what it counts to the channel's stats
// handlers.
func TestPolicySeams(t *testing.T) {
	s := serve(t, newEcho())
	r := manual.NewBuilderWithScheme("seams")
	r.InitialState(resolver.State{
		Endpoints: []resolver.Endpoint{{
			Addresses:  []resolver.Address{{Addr: s.addr}},
			Attributes: attributes.New(fromResolver{}, "endpoint"),
		}},
		Attributes: attributes.New(fromResolver{}, "state"),
	})
	creds := attributeCreds{insecure.NewCredentials(), make(chan *attributes.Attributes, 1)}
	c := &counter{}
	scripts.Lock()
	scripts.update = func(p *scripted, state balancer.ClientConnState) error {
		rs := state.ResolverState
		if got := rs.Attributes.Value(fromResolver{}); got != "state" {
			t.Errorf("the state has %v", got)
		}
		if got := rs.Endpoints[0].Attributes.Value(fromResolver{}); got != "endpoint" {
			t.Errorf("the endpoint has %v", got)
		}
		policyMetric.Record(p.MetricsRecorder(), 1, p.Target())
		addr := rs.Endpoints[0].Addresses[0]
		addr.Attributes = addr.Attributes.WithValue(fromPolicy{}, "address")
		sc, err := p.subConn([]resolver.Address{addr}, balancer.NewSubConnOptions{}, pickOf(balancer.PickResult{}))
		if err == nil {
			sc.Connect()
		}
		return err
	}
	scripts.Unlock()
	cc := newTestClient(t, "seams:///x", WithResolvers(r), WithTransportCredentials(creds), WithStatsHandler(c),
		WithDefaultServiceConfig(`{"loadBalancingConfig":[{"test_scripted":{}}]}`))
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	if got := (<-creds.seen).Value(fromPolicy{}); got != "address" {
		t.Errorf("the handshake has %v", got)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, seen := range c.seen {
		if seen == "grpc.test.policy_updates +1 []" {
			return
		}
	}
	t.Errorf("the metric is not in %q", c.seen)
}
