// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/sts"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// lateToken waits for the end of the RPC.
type lateToken struct{}

func (lateToken) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (lateToken) RequireTransportSecurity() bool { return false }

// lateExchange is credentials whose token service does not answer.
func lateExchange(p *probe.P) credentials.PerRPCCredentials {
	addr := rig.ConnServer(p, func(c net.Conn) { _, _ = c.Read(make([]byte, 1<<20)); _, _ = c.Read(make([]byte, 1)) })
	dir, err := os.MkdirTemp("", "secrets")
	if err != nil {
		panic(err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(dir) })
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		panic(err)
	}
	c, err := sts.NewCredentials(sts.Options{TokenExchangeServiceURI: "http://" + addr, SubjectTokenPath: name, SubjectTokenType: "urn:x"})
	if err != nil {
		panic(err)
	}
	return c
}

// lateTokenProbes tell how RPCs end whose credentials have no token by then.
func lateTokenProbes() []probe.Probe {
	var out []probe.Probe
	for name, creds := range map[string]func(*probe.P) credentials.PerRPCCredentials{
		"a token": func(*probe.P) credentials.PerRPCCredentials { return lateToken{} },
		"sts":     lateExchange,
	} {
		out = append(out, probe.Probe{Name: "late/" + name, Run: func(p *probe.P) {
			cert, pool := rig.Certificate()
			c := creds(p)
			pair := rig.Pair{Secure: true, TCP: true, Server: []grpc.ServerOption{grpc.Creds(credentials.NewServerTLSFromCert(&cert))}}
			pair.Dial = []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "probe.example"}))}
			ofCall := pair.Start(p)
			ofCall.Ready(p)
			pair.Dial = append(pair.Dial, grpc.WithPerRPCCredentials(c))
			ofChannel := pair.Start(p)
			ofChannel.Ready(p)
			for range 2 {
				ctx, cancel := probe.WithTimeout(p.Context(), 50*time.Millisecond)
				p.Printf("of the call, deadline: %s", lateCode(ctx, ofCall, grpc.PerRPCCredentials(c)))
				cancel()
				ctx, cancel = probe.WithTimeout(p.Context(), 50*time.Millisecond)
				p.Printf("of the channel, deadline: %s", lateCode(ctx, ofChannel))
				cancel()
				ctx, cancel = context.WithCancel(p.Context())
				go cancelLater(cancel)
				p.Printf("of the call, cancelled: %s", lateCode(ctx, ofCall, grpc.PerRPCCredentials(c)))
				ctx, cancel = context.WithCancel(p.Context())
				go cancelLater(cancel)
				p.Printf("of the channel, cancelled: %s", lateCode(ctx, ofChannel))
			}
		}})
	}
	return out
}

func lateCode(ctx context.Context, s *rig.Started, opts ...grpc.CallOption) string {
	return rig.Err(s.Invoke(ctx, rig.Unary, rig.M("q"), new(rig.Msg), opts...))
}

// cancelLater calls cancel when the process is quiet.
func cancelLater(cancel func()) {
	probe.Settle(50 * time.Millisecond)
	cancel()
}
