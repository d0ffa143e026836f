// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// stumbles are errors that a part of a program may return: a status ends RPCs, where another error
// may be one to wait for.
func stumbles() map[string]error {
	out := map[string]error{
		"a plain error":               errors.New("plain"),
		"a wrapped status":            fmt.Errorf("wrapped: %w", status.Error(codes.PermissionDenied, "of a status")),
		"a wrapped status of a state": fmt.Errorf("wrapped: %w", status.Error(codes.Unavailable, "of a status")),
		"io.EOF":                      io.EOF,
		"io.ErrUnexpectedEOF":         io.ErrUnexpectedEOF,
		"context.Canceled":            context.Canceled,
		"context.DeadlineExceeded":    context.DeadlineExceeded,
		"os.ErrDeadlineExceeded":      os.ErrDeadlineExceeded,
		"an unknown authority":        x509.UnknownAuthorityError{},
		"ErrNoSubConnAvailable":       balancer.ErrNoSubConnAvailable,
		"a wrapped ErrTransient":      fmt.Errorf("wrapped: %w", balancer.ErrTransientFailure),
		"a temporary error":           temporary{},
	}
	for code := codes.Canceled; code <= codes.Unauthenticated+1; code++ {
		out["a status of "+code.String()] = status.Error(code, "of a status")
	}
	return out
}

// stumblingPlaces are where the error comes from: each is a channel whose RPCs meet it.
var stumblingPlaces = map[string]func(*probe.P, error) grpc.ClientConnInterface{
	"Pick": func(p *probe.P, err error) grpc.ClientConnInterface { return pickError(p, connectivity.Ready, err) },
	"Pick in TRANSIENT_FAILURE": func(p *probe.P, err error) grpc.ClientConnInterface {
		return pickError(p, connectivity.TransientFailure, err)
	},
	"a resolver": func(p *probe.P, err error) grpc.ClientConnInterface {
		cc, r := manualChannel(p)
		r.BuildCallback = func(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) { cc.ReportError(err) }
		return cc
	},
	"Build of a resolver": func(p *probe.P, err error) grpc.ClientConnInterface {
		return channelTo(p, "stumbling:///x", grpc.WithResolvers(stumblingResolver{err}))
	},
	"credentials of the channel": func(p *probe.P, err error) grpc.ClientConnInterface {
		return rig.Pair{Dial: []grpc.DialOption{grpc.WithPerRPCCredentials(stumblingCreds{err: err})}}.Start(p)
	},
	"credentials of the call": func(p *probe.P, err error) grpc.ClientConnInterface {
		return callingWith{rig.Pair{}.Start(p), grpc.PerRPCCredentials(stumblingCreds{err: err})}
	},
	"a handshake": func(p *probe.P, err error) grpc.ClientConnInterface {
		creds := stumblingCreds{TransportCredentials: insecure.NewCredentials(), err: err}
		return rig.Pair{Secure: true, Dial: []grpc.DialOption{quick, grpc.WithTransportCredentials(creds)}}.Start(p)
	},
	"a dialer": func(p *probe.P, err error) grpc.ClientConnInterface {
		return channelTo(p, "passthrough:///x", quick, grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, err }))
	},
	"a tap": func(p *probe.P, err error) grpc.ClientConnInterface {
		return rig.Pair{Server: []grpc.ServerOption{grpc.InTapHandle(func(context.Context, *tap.Info) (context.Context, error) { return nil, err })}}.Start(p)
	},
	"Marshal": func(p *probe.P, err error) grpc.ClientConnInterface {
		return callingWith{rig.Pair{}.Start(p), grpc.ForceCodecV2(stumblingCodec{encoding.GetCodecV2(proto.Name), err, nil})}
	},
	"Unmarshal": func(p *probe.P, err error) grpc.ClientConnInterface {
		return callingWith{rig.Pair{}.Start(p), grpc.ForceCodecV2(stumblingCodec{encoding.GetCodecV2(proto.Name), nil, err})}
	},
	"an interceptor of the server": func(p *probe.P, err error) grpc.ClientConnInterface {
		return rig.Pair{Server: []grpc.ServerOption{grpc.UnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
			return nil, err
		})}}.Start(p)
	},
}

// pickError is a channel whose picker has the error.
func pickError(p *probe.P, state connectivity.State, err error) grpc.ClientConnInterface {
	cc, r := manualChannel(p, withBalancer(p, func(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
		cc.UpdateState(balancer.State{ConnectivityState: state, Picker: errPicker{err}})
		return deafBalancer{&tellingBalancer{failed: make(chan error, 1)}}
	}))
	r.InitialState(addresses("127.0.0.1:1"))
	return cc
}

// stumbleProbes are each error in each place, with patience and without.
func stumbleProbes() []probe.Probe {
	var out []probe.Probe
	for place, channel := range stumblingPlaces {
		for name, err := range stumbles() {
			for _, patient := range []bool{false, true} {
				out = append(out, probe.Probe{Name: fmt.Sprintf("error of %s/%s, wait for ready %v", place, name, patient), Run: func(p *probe.P) {
					cc := channel(p, err)
					ctx, cancel := context.WithCancel(p.Context())
					defer cancel()
					wait := within(p, "Invoke", func() string {
						err := cc.Invoke(ctx, rig.Unary, rig.M("q"), new(rig.Msg), grpc.WaitForReady(patient))
						return fmt.Sprintf("%s, a status %v", rig.Err(err), isStatus(err))
					})
					cancel()
					wait()
				}})
			}
		}
	}
	return out
}

// isStatus reports whether an error is itself a status.
func isStatus(err error) bool {
	_, is := err.(interface{ GRPCStatus() *status.Status })
	return is
}

// callingWith makes calls with an option.
type callingWith struct {
	grpc.ClientConnInterface
	option grpc.CallOption
}

func (c callingWith) Invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	return c.ClientConnInterface.Invoke(ctx, method, in, out, append(opts, c.option)...)
}

// stumblingResolver cannot be built.
type stumblingResolver struct{ err error }

func (stumblingResolver) Scheme() string { return "stumbling" }

func (r stumblingResolver) Build(resolver.Target, resolver.ClientConn, resolver.BuildOptions) (resolver.Resolver, error) {
	return nil, r.err
}

// stumblingCreds fail, as credentials of the transport, and of RPCs.
type stumblingCreds struct {
	credentials.TransportCredentials
	err error
}

func (c stumblingCreds) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return nil, c.err
}

func (stumblingCreds) RequireTransportSecurity() bool { return false }

func (c stumblingCreds) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, c.err
}

func (c stumblingCreds) Clone() credentials.TransportCredentials { return c }

// stumblingCodec fails one way or the other.
type stumblingCodec struct {
	encoding.CodecV2
	marshal, unmarshal error
}

func (c stumblingCodec) Marshal(v any) (mem.BufferSlice, error) {
	if c.marshal != nil {
		return nil, c.marshal
	}
	return c.CodecV2.Marshal(v)
}

func (c stumblingCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if c.unmarshal != nil {
		return c.unmarshal
	}
	return c.CodecV2.Unmarshal(data, v)
}
