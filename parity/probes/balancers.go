// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

// customProbes are balancers that programs write.
var customProbes = []probe.Probe{
	{Name: "custom/nil picker result", Run: func(p *probe.P) {
		ctx, cancel := probe.WithTimeout(p.Context(), 500*time.Millisecond)
		defer cancel()
		p.Printf("%s", pickWith(ctx, p, func(balancer.SubConn) (balancer.PickResult, error) { return balancer.PickResult{}, nil }))
	}},
	{Name: "custom/picker error", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p.Context(), p, func(balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{}, errors.New("no pick")
		}))
	}},
	{Name: "custom/picker status", Run: func(p *probe.P) {
		for _, c := range []codes.Code{codes.NotFound, codes.PermissionDenied, codes.Internal, codes.InvalidArgument} {
			p.Printf("%s", pickWith(p.Context(), p, func(balancer.SubConn) (balancer.PickResult, error) {
				return balancer.PickResult{}, status.Error(c, "picked")
			}))
		}
	}},
	{Name: "custom/picker wrapped status", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p.Context(), p, func(balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{}, fmt.Errorf("w: %w", status.Error(codes.PermissionDenied, "picked"))
		}))
	}},
	{Name: "custom/picker wrapped ErrNoSubConnAvailable", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p.Context(), p, func(balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{}, fmt.Errorf("w: %w", balancer.ErrNoSubConnAvailable)
		}))
	}},
	{Name: "custom/picker ErrTransientFailure", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p.Context(), p, func(balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{}, balancer.ErrTransientFailure
		}))
	}},
	{Name: "custom/picker drop with wait for ready", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p.Context(), p, func(balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{}, status.Error(codes.Unavailable, "dropped")
		}, grpc.WaitForReady(true)))
	}},
	{Name: "custom/picker metadata", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p.Context(), p, func(sc balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{SubConn: sc, Metadata: metadata.Pairs("picked", "yes", "own", "picker")}, nil
		}))
	}},
	{Name: "custom/picker metadata with an authority", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p.Context(), p, func(sc balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{SubConn: sc, Metadata: metadata.Pairs(":authority", "picked.example")}, nil
		}))
	}},
	{Name: "custom/Done", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p.Context(), p, func(sc balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{SubConn: sc, Done: func(i balancer.DoneInfo) {
				p.Printf("done: %s trailer=%s sent=%v received=%v load=%v", rig.Err(i.Err), rig.MD(i.Trailer), i.BytesSent, i.BytesReceived, i.ServerLoad)
			}}, nil
		}))
	}},
	{Name: "custom/Build and first update", Run: func(p *probe.P) {
		told := make(chan string, 10)
		opt := withBalancer(p, func(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
			told <- fmt.Sprintf("creds=%v bundle=%v dialer=%v authority=%q parent=%v ua=%q target=%q cc=%q", o.DialCreds != nil, o.CredsBundle != nil, o.Dialer != nil, o.Authority,
				o.ChannelzParent != nil, o.CustomUserAgent, o.Target.String(), cc.Target())
			return configured{balancer.Get("pick_first").Build(cc, o), nil}
		})
		cc, r := manualChannel(p, opt, grpc.WithUserAgent("mine"), grpc.WithAuthority("auth"))
		r.InitialState(addresses(server(p)))
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%s", <-told)
	}},
	{Name: "custom/NewSubConn without addresses", Run: func(p *probe.P) {
		withSubConn(p, func(cc balancer.ClientConn) {
			_, err := cc.NewSubConn(nil, balancer.NewSubConnOptions{})
			p.Printf("%s", rig.Err(err))
			_, err = cc.NewSubConn([]resolver.Address{}, balancer.NewSubConnOptions{})
			p.Printf("%s", rig.Err(err))
		})
	}},
	{Name: "custom/life of a subchannel", Run: func(p *probe.P) {
		j := &journal{}
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, err := cc.NewSubConn(addresses(server(p)).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v %v", s.ConnectivityState, s.ConnectionError)
			}})
			p.Printf("%v", err)
			sc.Connect()
			j.wait(p, 2)
			sc.Connect()
			sc.Shutdown()
			j.wait(p, 3)
			sc.Shutdown()
			sc.Connect()
		})
		j.print(p)
	}},
	{Name: "custom/subchannel that cannot connect", Run: func(p *probe.P) {
		j := &journal{}
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, _ := cc.NewSubConn(addresses("127.0.0.1:1").Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v %v", s.ConnectivityState, s.ConnectionError)
			}})
			sc.Connect()
			j.wait(p, 3)
		}, quick)
		j.print(p)
	}},
	{Name: "custom/subchannel whose server goes", Run: func(p *probe.P) {
		j := &journal{}
		s := rig.Pair{TCP: true}.Serve(p)
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, _ := cc.NewSubConn(addresses(s.Listener.Addr().String()).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v %v", s.ConnectivityState, s.ConnectionError)
			}})
			sc.Connect()
			j.wait(p, 2)
			s.Server.GracefulStop()
			j.wait(p, 3)
		}, quick)
		j.print(p)
	}},
	{Name: "custom/UpdateAddresses", Run: func(p *probe.P) {
		j := &journal{}
		one, two := server(p), server(p)
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, _ := cc.NewSubConn(addresses(one).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v %v", s.ConnectivityState, s.ConnectionError)
			}})
			sc.Connect()
			j.wait(p, 2)
			for _, addr := range []string{two, one} {
				cc.UpdateAddresses(sc, addresses(addr).Addresses)
				probe.Settle(0) // else it depends on how far it has come
				j.add("updated")
			}
			cc.RemoveSubConn(sc)
			probe.Settle(0)
		})
		j.print(p)
	}},
	{Name: "custom/health listener", Run: func(p *probe.P) {
		j := &journal{}
		withSubConn(p, func(cc balancer.ClientConn) {
			var sc balancer.SubConn
			sc, _ = cc.NewSubConn(addresses(server(p)).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v", s.ConnectivityState)
				if s.ConnectivityState == connectivity.Ready {
					sc.RegisterHealthListener(func(s balancer.SubConnState) { j.add("health %v %v", s.ConnectivityState, s.ConnectionError) })
				}
			}})
			sc.Connect()
			j.wait(p, 3)
			sc.Shutdown()
			j.wait(p, 4)
		})
		j.print(p)
	}},
	{Name: "custom/producer", Run: func(p *probe.P) {
		j := &journal{}
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, _ := cc.NewSubConn(addresses(server(p)).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v", s.ConnectivityState)
			}})
			sc.Connect()
			j.wait(p, 2)
			b := producerBuilder{j}
			one, stop1 := sc.GetOrBuildProducer(b)
			two, stop2 := sc.GetOrBuildProducer(b)
			j.add("same: %v", one == two)
			stop1()
			stop1()
			j.add("one stopped")
			stop2()
			_, _ = sc.GetOrBuildProducer(b)
			sc.Shutdown()
			j.wait(p, 9)
		})
		j.print(p)
	}},
	{Name: "custom/UpdateState after Close", Run: func(p *probe.P) {
		var kept balancer.ClientConn
		withSubConn(p, func(cc balancer.ClientConn) { kept = cc })
		rig.Try(p, "UpdateState", func() error {
			kept.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: errPicker{errors.New("x")}})
			return nil
		})
		rig.Try(p, "NewSubConn", func() error {
			_, err := kept.NewSubConn(addresses("127.0.0.1:1").Addresses, balancer.NewSubConnOptions{})
			return err
		})
		rig.Try(p, "ResolveNow", func() error { kept.ResolveNow(resolver.ResolveNowOptions{}); return nil })
	}},
	{Name: "custom/credentials of a subchannel", Run: func(p *probe.P) {
		j := &journal{}
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, _ := cc.NewSubConn(addresses(server(p)).Addresses, balancer.NewSubConnOptions{
				CredsBundle:   failingBundle{},
				StateListener: func(s balancer.SubConnState) { j.add("%v %v", s.ConnectivityState, s.ConnectionError) },
			})
			sc.Connect()
			j.wait(p, 2)
		})
		j.print(p)
	}},
}

type producerBuilder struct{ j *journal }

func (b producerBuilder) Build(cc any) (balancer.Producer, func()) {
	_, is := cc.(grpc.ClientConnInterface)
	b.j.add("build, channel: %v", is)
	return b.j, func() { b.j.add("close") }
}

type failingBundle struct{}

func (failingBundle) TransportCredentials() credentials.TransportCredentials {
	return failingCreds{insecure.NewCredentials()}
}
func (failingBundle) PerRPCCredentials() credentials.PerRPCCredentials { return nil }
func (b failingBundle) NewWithMode(string) (credentials.Bundle, error) { return b, nil }

type failingCreds struct {
	credentials.TransportCredentials
}

func (failingCreds) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("handshake of the bundle")
}
func (c failingCreds) Clone() credentials.TransportCredentials { return c }

// pickWith makes a call on a channel whose picker is pick, once its one subchannel is ready.
func pickWith(ctx context.Context, p *probe.P, pick func(balancer.SubConn) (balancer.PickResult, error), opts ...grpc.CallOption) string {
	s := rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("t", "1"))
		md, _ := metadata.FromIncomingContext(ctx)
		return rig.M(rig.MD(md)), nil
	}}}.Serve(p)
	opt := withBalancer(p, func(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
		return &oneSubConn{cc: cc, pick: pick}
	})
	cc, r := manualChannel(p, opt)
	r.InitialState(addresses(s.Listener.Addr().String()))
	return call(metadata.AppendToOutgoingContext(ctx, "own", "call"), cc, opts...)
}

type oneSubConn struct {
	cc   balancer.ClientConn
	pick func(balancer.SubConn) (balancer.PickResult, error)
}

func (b *oneSubConn) UpdateClientConnState(s balancer.ClientConnState) error {
	var sc balancer.SubConn
	sc, err := b.cc.NewSubConn(s.ResolverState.Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
		if s.ConnectivityState == connectivity.Ready {
			b.cc.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: pickFunc(func(balancer.PickInfo) (balancer.PickResult, error) { return b.pick(sc) })})
		}
	}})
	if err == nil {
		sc.Connect()
	}
	return err
}
func (*oneSubConn) ResolverError(error)                                        {}
func (*oneSubConn) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}
func (*oneSubConn) Close()                                                     {}
func (*oneSubConn) ExitIdle()                                                  {}

type pickFunc func(balancer.PickInfo) (balancer.PickResult, error)

func (f pickFunc) Pick(i balancer.PickInfo) (balancer.PickResult, error) { return f(i) }

// withSubConn gives do the channel of a balancer, outside of the balancer's own calls.
func withSubConn(p *probe.P, do func(balancer.ClientConn), opts ...grpc.DialOption) {
	built := make(chan balancer.ClientConn, 1)
	t := &tellingBalancer{make: func(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
		built <- cc
		return deafBalancer{&tellingBalancer{failed: make(chan error, 100)}}
	}}
	cc, r := manualChannel(p, append(opts, t.use(p))...)
	r.InitialState(addresses("127.0.0.1:1"))
	cc.Connect()
	do(<-built)
	_ = cc.Close()
	probe.Settle(0) // listeners have heard what there is to hear
}
