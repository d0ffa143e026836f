// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestNewClientRefusesWhatItCannotReach(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no address":      {Network: "tcp"},
		"unknown network": {Network: "udp", Addrs: []string{"127.0.0.1:1"}},
	} {
		if c, err := NewClient(cfg); err == nil {
			c.Close()
			t.Error(name + ": no error")
		}
	}
}

func TestRoundRobinIsSkippedWithoutServers(t *testing.T) {
	c := dial(t, Config{Network: "tcp", Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}})
	if err := roundRobin(t.Context(), c); !errors.Is(err, ErrSkipped) {
		t.Errorf("error %v, want %v", err, ErrSkipped)
	}
}

func TestGoesRound(t *testing.T) {
	turns := func(s string) []string { return strings.Split(strings.Repeat(s, roundRobinRun/3), "") }
	for _, tc := range []struct {
		name  string
		order []string
		want  bool
	}{
		{"in turn", turns("bca"), true},
		{"in turn at last", append([]string{"a", "a"}, turns("abc")...), true},
		{"too few", turns("abc")[1:], false},
		{"one alone", turns("aaa"), false},
		{"one twice", turns("aab"), false},
		{"a slip", append(turns("abc")[1:], "b"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := goesRound(tc.order); got != tc.want {
				t.Errorf("goesRound(%q) = %v, want %v", tc.order, got, tc.want)
			}
		})
	}
}

// Whether a channel is noticed that takes all RPCs to wait, or none.
func TestWaitForReadyFailsIfAllRPCsAreAlike(t *testing.T) {
	for _, wait := range []bool{true, false} {
		t.Run(fmt.Sprintf("wait %v", wait), func(t *testing.T) {
			override := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				return invoke(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(wait))...)
			}
			c := dial(t, Config{
				Network: "tcp", Addrs: []string{"127.0.0.1:1"},
				Options: []grpc.DialOption{grpc.WithUnaryInterceptor(override)},
			})
			// An RPC that waits for good ends with the context.
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if err := waitForReady(ctx, c); err == nil {
				t.Error("no error")
			}
		})
	}
}

// Whether a server that drops what a token added is noticed.
func TestPerRPCCredentialsFailsWithoutTheTokens(t *testing.T) {
	for _, key := range []string{echoInitialKey, echoTrailingKey} {
		t.Run(key, func(t *testing.T) {
			drop := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
				md, ok := metadata.FromIncomingContext(ctx)
				if !ok {
					return nil, status.Error(codes.Internal, "no metadata")
				}
				md.Delete(key)
				return handle(metadata.NewIncomingContext(ctx, md), req)
			}
			c := dialOne(t, NewServer(grpc.UnaryInterceptor(drop)))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			err := perRPCCredentials(ctx, c)
			if err == nil || !strings.Contains(fmt.Sprint(err), key) {
				t.Errorf("error %v, want one about %s", err, key)
			}
		})
	}
}

func TestTokenRefusesAnotherService(t *testing.T) {
	if md, err := callToken(true).GetRequestMetadata(t.Context(), "https://host/other"); err == nil {
		t.Errorf("metadata %v for another service", md)
	}
}

func TestGateRefusesUntilOpened(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	addr := lis.Addr().String()
	c := dial(t, Config{Network: "tcp", Addrs: []string{addr}})
	g := newGate(c.dial)
	if conn, err := g.dial(t.Context(), addr); err == nil {
		conn.Close()
		t.Fatal("connected through a closed gate")
	}
	<-g.refused
	g.open()
	conn, err := g.dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}
