// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"encoding/json"
	"net"
	"testing"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/balancer/roundrobin"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// sliced makes of whatever holds it something that can't be compared, as programs have it: to
// use it as a key, or with ==, panics. Each type below is an interface that a program may
// implement so, as a struct and not as a pointer to one.
type sliced struct{ _ []int }

type (
	slicedAuth struct {
		credentials.AuthInfo
		_ sliced
	}
	slicedBalancer struct {
		balancer.Balancer
		_ sliced
	}
	slicedPicker struct {
		balancer.Picker
		_ sliced
	}
	slicedSubConn struct {
		balancer.SubConn
		_ sliced
	}
	slicedResolver struct {
		resolver.Resolver
		_ sliced
	}
	slicedCodec struct {
		encoding.CodecV2
		_ sliced
	}
	slicedZip struct {
		Compressor
		_ sliced
	}
	slicedUnzip struct {
		Decompressor
		_ sliced
	}
	slicedConfig struct {
		serviceconfig.LoadBalancingConfig
		_ sliced
	}
	slicedDial struct {
		EmptyDialOption
		_ sliced
	}
	slicedServer struct {
		EmptyServerOption
		_ sliced
	}
	slicedCall struct {
		EmptyCallOption
		_ sliced
	}
	slicedTokens struct {
		tokens
		_ sliced
	}
	slicedBundle struct {
		testBundle
		_ sliced
	}
	slicedService struct{ _ sliced }
)

type slicedCreds struct {
	credentials.TransportCredentials
	_ sliced
}

func (c slicedCreds) Clone() credentials.TransportCredentials { return c }

func (c slicedCreds) ClientHandshake(ctx context.Context, authority string, nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.shake(c.TransportCredentials.ClientHandshake(ctx, authority, nc))
}

func (c slicedCreds) ServerHandshake(nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.shake(c.TransportCredentials.ServerHandshake(nc))
}

func (slicedCreds) shake(nc net.Conn, info credentials.AuthInfo, err error) (net.Conn, credentials.AuthInfo, error) {
	return funcConn{nc, func() {}}, slicedAuth{AuthInfo: info}, err
}

// slicedResolvers resolve to addr, twice alike, with all that a program may say of an address.
type slicedResolvers struct {
	_      sliced
	addr   string
	config string
}

func (slicedResolvers) Scheme() string { return "sliced" }

func (b slicedResolvers) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	for range 2 {
		values := attributes.New("slice", []int{1}).WithValue("map", map[string]int{"a": 1}).WithValue("struct", sliced{})
		//lint:ignore SA1019 programs still fill in all fields
		a := resolver.Address{Addr: b.addr, Attributes: values, BalancerAttributes: values, Metadata: []int{1}}
		state := resolver.State{
			Addresses:     []resolver.Address{a, a},
			Endpoints:     []resolver.Endpoint{{Addresses: []resolver.Address{a}, Attributes: values}, {Addresses: []resolver.Address{a}, Attributes: values}},
			Attributes:    values,
			ServiceConfig: cc.ParseServiceConfig(b.config),
		}
		if err := cc.UpdateState(state); err != nil {
			return nil, err
		}
	}
	return slicedResolver{Resolver: idleResolver{}}, nil
}

type idleResolver struct{}

func (idleResolver) ResolveNow(resolver.ResolveNowOptions) {}
func (idleResolver) Close()                                {}

// slicedPolicy is a policy of a program around one of this module.
type slicedPolicy struct {
	_           sliced
	name, child string
}

func (b slicedPolicy) Name() string { return b.name }

func (b slicedPolicy) ParseConfig(json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	return slicedConfig{}, nil
}

func (b slicedPolicy) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return slicedBalancer{Balancer: configless{balancer.Get(b.child).Build(slicedParent{ClientConn: cc}, opts)}}
}

// configless gives its child no config.
type configless struct{ balancer.Balancer }

func (b configless) UpdateClientConnState(s balancer.ClientConnState) error {
	s.BalancerConfig = nil
	return b.Balancer.UpdateClientConnState(s)
}

// slicedParent is what the child is built with.
type slicedParent struct {
	balancer.ClientConn
	_ sliced
}

func (p slicedParent) NewSubConn(a []resolver.Address, o balancer.NewSubConnOptions) (balancer.SubConn, error) {
	//lint:ignore SA1019 it is passed on
	sc, err := p.ClientConn.NewSubConn(a, o)
	return slicedSubConn{SubConn: sc}, err
}

func (p slicedParent) UpdateState(s balancer.State) {
	s.Picker = slicedPicker{Picker: s.Picker}
	p.ClientConn.UpdateState(s)
}

func (p slicedPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	r, err := p.Picker.Pick(info)
	if sc, ok := r.SubConn.(slicedSubConn); ok {
		r.SubConn = sc.SubConn
	}
	return r, err
}

func init() {
	balancer.Register(slicedPolicy{name: "test_sliced_first", child: pickfirst.Name})
	balancer.Register(slicedPolicy{name: "test_sliced_round", child: roundrobin.Name})
}

// TestIncomparable: values of a program are held, and passed on, whatever their types: none is
// a key, and none is compared by == alone. Each is given to two channels that are alike
// otherwise, and so to all that compares channels, connections, addresses and messages.
func TestIncomparable(t *testing.T) {
	creds := slicedCreds{TransportCredentials: insecure.NewCredentials()}
	codec := slicedCodec{CodecV2: encoding.GetCodecV2("proto")}
	policy := func(name string) string { return `{"loadBalancingConfig":[{"` + name + `":{}}]}` }
	for name, tt := range map[string]struct {
		server []ServerOption
		dial   []DialOption
		call   []CallOption
		config string // of a resolver
	}{
		"connections and addresses": {dial: []DialOption{WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			return funcConn{nc, func() {}}, err
		})}},
		"transport credentials": {server: []ServerOption{Creds(creds)}, dial: []DialOption{WithTransportCredentials(creds)}},
		"credentials' bundle": {dial: []DialOption{WithTransportCredentials(nil), WithCredentialsBundle(slicedBundle{
			testBundle: testBundle{creds, slicedTokens{tokens: tokens{name: "a"}}},
		})}},
		"per-RPC credentials": {
			dial: []DialOption{WithPerRPCCredentials(slicedTokens{tokens: tokens{name: "a"}})},
			call: []CallOption{PerRPCCredentials(slicedTokens{tokens: tokens{name: "b"}})},
		},
		"stats handlers": {
			server: []ServerOption{StatsHandler(sliceStats{[]string{"x"}})},
			dial:   []DialOption{WithStatsHandler(sliceStats{[]string{"x"}}), WithStatsHandler(sliceStats{[]string{"y"}})},
		},
		"codecs": {server: []ServerOption{ForceServerCodecV2(codec)}, call: []CallOption{ForceCodecV2(codec)}},
		"compressors": {
			server: []ServerOption{RPCCompressor(slicedZip{Compressor: NewGZIPCompressor()}), RPCDecompressor(slicedUnzip{Decompressor: NewGZIPDecompressor()})},
			dial:   []DialOption{WithCompressor(slicedZip{Compressor: NewGZIPCompressor()}), WithDecompressor(slicedUnzip{Decompressor: NewGZIPDecompressor()})},
		},
		"pools":                                {dial: []DialOption{poolOption{pool: slicedPool{BufferPool: mem.DefaultBufferPool()}}}},
		"options":                              {server: []ServerOption{slicedServer{}}, dial: []DialOption{slicedDial{}, WithDefaultCallOptions(slicedCall{})}, call: []CallOption{slicedCall{}}},
		"resolvers, addresses with attributes": {config: policy(pickfirst.Name)},
		"the same, round_robin":                {config: policy(roundrobin.Name)},
		"policies, configs, pickers":           {config: policy("test_sliced_first")},
		"the same, around round_robin":         {config: policy("test_sliced_round")},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, newEcho(), tt.server...)
			opts, target := tt.dial, "passthrough:///"+s.addr
			if tt.config != "" {
				opts, target = append(opts, WithResolvers(slicedResolvers{addr: s.addr, config: tt.config})), "sliced:///x"
			}
			for range 2 {
				cc := newTestClient(t, target, opts...)
				for range 2 {
					if err := call(testContext(t), cc, "hello", tt.call...); err != nil {
						t.Fatal(err)
					}
				}
				st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, tt.call...)
				if err != nil {
					t.Fatal(err)
				}
				m := new(PreparedMsg)
				if err := m.Encode(st, &text{Value: "hello"}); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if err := st.SendMsg(m); err != nil {
						t.Fatal(err)
					}
					if err := st.RecvMsg(new(text)); err != nil {
						t.Fatal(err)
					}
				}
				if err := cc.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestServiceIncomparable: so is what a service is made of.
func TestServiceIncomparable(t *testing.T) {
	s := NewServer()
	defer s.Stop()
	for _, name := range []string{"test.A", "test.B"} {
		s.RegisterService(&ServiceDesc{ServiceName: name, HandlerType: (*any)(nil), Metadata: []int{1}}, slicedService{})
	}
	if n := len(s.GetServiceInfo()); n != 2 {
		t.Errorf("%d services", n)
	}
}
