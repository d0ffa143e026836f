// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// dialOptions are all of them, some with odd values.
var dialOptions = []struct {
	name   string
	option func() grpc.DialOption
}{
	{"none", func() grpc.DialOption { return grpc.EmptyDialOption{} }},
	{"WithSharedWriteBuffer", func() grpc.DialOption { return grpc.WithSharedWriteBuffer(true) }},
	{"WithWriteBufferSize 0", func() grpc.DialOption { return grpc.WithWriteBufferSize(0) }},
	{"WithWriteBufferSize -1", func() grpc.DialOption { return grpc.WithWriteBufferSize(-1) }},
	{"WithReadBufferSize 0", func() grpc.DialOption { return grpc.WithReadBufferSize(0) }},
	{"WithReadBufferSize -1", func() grpc.DialOption { return grpc.WithReadBufferSize(-1) }},
	{"WithInitialWindowSize 0", func() grpc.DialOption { return grpc.WithInitialWindowSize(0) }},
	{"WithInitialWindowSize -1", func() grpc.DialOption { return grpc.WithInitialWindowSize(-1) }},
	{"WithInitialWindowSize 1M", func() grpc.DialOption { return grpc.WithInitialWindowSize(1 << 20) }},
	{"WithInitialConnWindowSize -1", func() grpc.DialOption { return grpc.WithInitialConnWindowSize(-1) }},
	{"WithInitialConnWindowSize 1M", func() grpc.DialOption { return grpc.WithInitialConnWindowSize(1 << 20) }},
	{"WithStaticStreamWindowSize 100", func() grpc.DialOption { return grpc.WithStaticStreamWindowSize(100) }},
	{"WithStaticConnWindowSize 100", func() grpc.DialOption { return grpc.WithStaticConnWindowSize(100) }},
	{"WithMaxMsgSize 10", func() grpc.DialOption { return grpc.WithMaxMsgSize(10) }},
	{"WithDefaultCallOptions none", func() grpc.DialOption { return grpc.WithDefaultCallOptions() }},
	{"WithDefaultCallOptions recv", func() grpc.DialOption {
		return grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(10))
	}},
	{"WithCodec", func() grpc.DialOption { return grpc.WithCodec(oldCodec{}) }},
	{"WithCompressor", func() grpc.DialOption { return grpc.WithCompressor(grpc.NewGZIPCompressor()) }},
	{"WithDecompressor", func() grpc.DialOption { return grpc.WithDecompressor(grpc.NewGZIPDecompressor()) }},
	{"WithConnectParams zero", func() grpc.DialOption { return grpc.WithConnectParams(grpc.ConnectParams{}) }},
	{"WithConnectParams", func() grpc.DialOption {
		return grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: time.Second})
	}},
	{"WithBackoffMaxDelay", func() grpc.DialOption { return grpc.WithBackoffMaxDelay(time.Second) }},
	{"WithBackoffConfig", func() grpc.DialOption { return grpc.WithBackoffConfig(grpc.DefaultBackoffConfig) }},
	{"WithNoProxy", func() grpc.DialOption { return grpc.WithNoProxy() }},
	{"WithPerRPCCredentials insecure", func() grpc.DialOption { return grpc.WithPerRPCCredentials(token{}) }},
	{"WithStatsHandler nil", func() grpc.DialOption { return grpc.WithStatsHandler(nil) }},
	{"WithStatsHandler", func() grpc.DialOption { return grpc.WithStatsHandler(quietStats{}) }},
	{"WithUserAgent", func() grpc.DialOption { return grpc.WithUserAgent("mine/1") }},
	{"WithUserAgent empty", func() grpc.DialOption { return grpc.WithUserAgent("") }},
	{"WithKeepaliveParams zero", func() grpc.DialOption { return grpc.WithKeepaliveParams(keepalive.ClientParameters{}) }},
	{"WithKeepaliveParams tiny", func() grpc.DialOption {
		return grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 1, Timeout: time.Hour, PermitWithoutStream: true})
	}},
	{"WithUnaryInterceptor nil", func() grpc.DialOption { return grpc.WithUnaryInterceptor(nil) }},
	{"WithStreamInterceptor nil", func() grpc.DialOption { return grpc.WithStreamInterceptor(nil) }},
	{"WithChainUnaryInterceptor none", func() grpc.DialOption { return grpc.WithChainUnaryInterceptor() }},
	{"WithChainStreamInterceptor none", func() grpc.DialOption { return grpc.WithChainStreamInterceptor() }},
	{"WithUnaryInterceptor", func() grpc.DialOption {
		return grpc.WithUnaryInterceptor(func(ctx context.Context, m string, req, rep any, cc *grpc.ClientConn, inv grpc.UnaryInvoker, o ...grpc.CallOption) error {
			if err := inv(ctx, m, req, rep, cc, o...); err != nil {
				return fmt.Errorf("intercepted: %w", err)
			}
			return errors.New("intercepted " + m)
		})
	}},
	{"WithStreamInterceptor", func() grpc.DialOption {
		return grpc.WithStreamInterceptor(func(_ context.Context, d *grpc.StreamDesc, _ *grpc.ClientConn, m string, _ grpc.Streamer, _ ...grpc.CallOption) (grpc.ClientStream, error) {
			return nil, fmt.Errorf("intercepted %s %v", m, d.StreamName)
		})
	}},
	{"WithAuthority", func() grpc.DialOption { return grpc.WithAuthority("else.where") }},
	{"WithDisableServiceConfig", func() grpc.DialOption { return grpc.WithDisableServiceConfig() }},
	{"WithDefaultServiceConfig", func() grpc.DialOption {
		return grpc.WithDefaultServiceConfig(`{"methodConfig":[{"name":[{}],"maxResponseMessageBytes":5}]}`)
	}},
	{"WithDisableRetry", func() grpc.DialOption { return grpc.WithDisableRetry() }},
	{"WithMaxCallAttempts 0", func() grpc.DialOption { return grpc.WithMaxCallAttempts(0) }},
	{"WithMaxHeaderListSize 0", func() grpc.DialOption { return grpc.WithMaxHeaderListSize(0) }},
	{"WithMaxHeaderListSize 50", func() grpc.DialOption { return grpc.WithMaxHeaderListSize(50) }},
	{"WithDisableHealthCheck", func() grpc.DialOption { return grpc.WithDisableHealthCheck() }},
	{"WithIdleTimeout", func() grpc.DialOption { return grpc.WithIdleTimeout(time.Hour) }},
	{"WithIdleTimeout 0", func() grpc.DialOption { return grpc.WithIdleTimeout(0) }},
	{"WithLocalDNSResolution", func() grpc.DialOption { return grpc.WithLocalDNSResolution() }},
	{"WithResolvers", func() grpc.DialOption { return grpc.WithResolvers(manual.NewBuilderWithScheme("mine")) }},
	{"WithInsecure", func() grpc.DialOption { return grpc.WithInsecure() }},
	{"WithBlock", func() grpc.DialOption { return grpc.WithBlock() }},
	{"WithReturnConnectionError", func() grpc.DialOption { return grpc.WithReturnConnectionError() }},
	{"FailOnNonTempDialError", func() grpc.DialOption { return grpc.FailOnNonTempDialError(true) }},
	{"WithTimeout", func() grpc.DialOption { return grpc.WithTimeout(time.Hour) }},
	{"WithContextDialer", func() grpc.DialOption {
		return grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		})
	}},
	{"WithContextDialer fails", func() grpc.DialOption {
		return grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errors.New("no way") })
	}},
	{"WithDialer", func() grpc.DialOption {
		return grpc.WithDialer(func(addr string, d time.Duration) (net.Conn, error) { return net.DialTimeout("tcp", addr, d) })
	}},
	{"WithTransportCredentials nil", func() grpc.DialOption { return grpc.WithTransportCredentials(nil) }},
	{"WithTransportCredentials tls", func() grpc.DialOption {
		return grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{}))
	}},
	{"WithCredentialsBundle", func() grpc.DialOption { return grpc.WithCredentialsBundle(insecure.NewBundle()) }},
}

// token are per-RPC credentials.
type token struct {
	secure bool
	md     map[string]string
	err    error
}

func (t token) GetRequestMetadata(_ context.Context, uri ...string) (map[string]string, error) {
	if t.md != nil || t.err != nil {
		return t.md, t.err
	}
	return map[string]string{"token": fmt.Sprint(uri)}, nil
}
func (t token) RequireTransportSecurity() bool { return t.secure }

// dialOptionProbes say of each option whether it can be compared, and what calls notice.
func dialOptionProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range dialOptions {
		out = append(out, probe.Probe{Name: "dial/" + c.name + ", compared", Run: func(p *probe.P) { comparable(p, c.option()) }})
		out = append(out, probe.Probe{Name: "dial/" + c.name, Run: func(p *probe.P) {
			o := c.option()
			s := rig.Pair{TCP: true}.Serve(p)
			s.ClientConn = dialOrSay(p, s.Listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), o)
			if s.ClientConn != nil {
				someCalls(p, s)
			}
		}})
		out = append(out, probe.Probe{Name: "dial/Dial, " + c.name, Run: func(p *probe.P) {
			s := rig.Pair{TCP: true}.Serve(p)
			ctx, cancel := probe.WithTimeout(p.Context(), time.Second)
			defer cancel()
			cc, err := grpc.DialContext(ctx, s.Listener.Addr().String(), grpc.WithInsecure(), c.option())
			if err != nil {
				p.Printf("Dial: %s", rig.Err(err))
				return
			}
			defer cc.Close()
			p.Printf("%s", call(p.Context(), cc))
		}})
	}
	for _, c := range []struct {
		name string
		opts func() []grpc.DialOption
	}{
		{"no credentials", func() []grpc.DialOption { return nil }},
		{"credentials and bundle", func() []grpc.DialOption {
			return []grpc.DialOption{
				grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithCredentialsBundle(insecure.NewBundle()),
			}
		}},
		{"secure token over insecure", func() []grpc.DialOption {
			return []grpc.DialOption{grpc.WithInsecure(), grpc.WithPerRPCCredentials(token{secure: true})}
		}},
		{"bad default service config", func() []grpc.DialOption {
			return []grpc.DialOption{grpc.WithInsecure(), grpc.WithDefaultServiceConfig("{")}
		}},
		{"nil option", func() []grpc.DialOption { return []grpc.DialOption{nil} }},
		{"two resolvers of a scheme", func() []grpc.DialOption {
			return []grpc.DialOption{grpc.WithInsecure(), grpc.WithResolvers(sayResolver("a"), sayResolver("b"))}
		}},
	} {
		out = append(out, probe.Probe{Name: "dial/" + c.name, Run: func(p *probe.P) {
			if cc := dialOrSay(p, "say:///x", c.opts()...); cc != nil {
				err := cc.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))
				p.Printf("call: %s", rig.Err(err))
			}
		}})
	}
	return out
}

// sayResolver fails with its own text.
type sayResolver string

func (r sayResolver) Build(resolver.Target, resolver.ClientConn, resolver.BuildOptions) (resolver.Resolver, error) {
	return nil, errors.New("built by " + string(r))
}
func (sayResolver) Scheme() string { return "say" }

// dialOrSay is NewClient; it prints an error.
func dialOrSay(p *probe.P, target string, opts ...grpc.DialOption) *grpc.ClientConn {
	cc, err := grpc.NewClient(target, opts...)
	if err != nil {
		p.Printf("NewClient: %s", rig.Err(err))
		return nil
	}
	p.Cleanup(func() { _ = cc.Close() })
	return cc
}
