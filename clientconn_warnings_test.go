// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/healthcheck"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// TestFailuresAreWarnings: whoever logs warnings reads why a channel does not connect, in the words that
// operators and their alerts look for.
func TestFailuresAreWarnings(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	log := lockedBuffer{grown: make(chan struct{}, 1)}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, &log, io.Discard))
	r := manual.NewBuilderWithScheme("warned")
	r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: "a", ServerName: "of.a"}, {Addr: "b"}}})
	cc := newTestClient(t, "warned:///x", WithResolvers(r), WithContextDialer(func(_ context.Context, addr string) (net.Conn, error) {
		return nil, errors.New("no way to " + addr)
	}))
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.Unavailable)
	r.CC().ReportError(errors.New("the names are gone"))
	for _, want := range []string{
		`grpc: addrConn.createTransport failed to connect to {Addr: "a", ServerName: "of.a", }. Err: connection error: desc = "transport: Error while dialing: no way to a"`,
		`grpc: addrConn.createTransport failed to connect to {Addr: "b", ServerName: "x", }. Err: connection error: desc = "transport: Error while dialing: no way to b"`,
		"ccResolverWrapper: reporting error to cc: the names are gone",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no warning %q in:\n%s", want, log.String())
		}
	}
}

// TestShortPingIntervalsAreWarnings: options whose keepalive times are raised say so, each where it is made.
func TestShortPingIntervalsAreWarnings(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	log := lockedBuffer{grown: make(chan struct{}, 1)}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, &log, io.Discard))
	const want = "Adjusting keepalive ping interval to minimum period of "
	for _, d := range []time.Duration{-1, 0, 1, 999 * time.Millisecond, time.Second, 9999 * time.Millisecond, 10 * time.Second, math.MaxInt64} {
		n := strings.Count(log.String(), want+"10s")
		WithKeepaliveParams(keepalive.ClientParameters{Time: d})
		if got := strings.Count(log.String(), want+"10s") > n; got != (d < 10*time.Second) {
			t.Errorf("a client's time of %v is warned of: %v", d, got)
		}
		n = strings.Count(log.String(), want+"1s")
		KeepaliveParams(keepalive.ServerParameters{Time: d})
		if got := strings.Count(log.String(), want+"1s") > n; got != (d > 0 && d < time.Second) {
			t.Errorf("a server's time of %v is warned of: %v", d, got)
		}
	}
}

// TestHealthChecksThatAreNotAreErrors: a program that asks for health checks which nobody makes is told.
func TestHealthChecksThatAreNotAreErrors(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	log := lockedBuffer{grown: make(chan struct{}, 1)}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, &log))
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr, WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":"x"}}`))
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.OK)
	want := "Health check is requested but health package is not imported."
	if healthcheck.Registered() != nil {
		want = "Subchannel health check is unimplemented at server side, thus health check is disabled for SubConn"
	}
	if log.await(testContext(t), want, 1) == 0 {
		t.Errorf("no error %q in:\n%s", want, log.String())
	}
}

// otherName is a codec of a name that nobody knows.
type otherName struct{ encoding.CodecV2 }

func (otherName) Name() string { return "other" }

// TestUnknownCodecIsAWarning: a server says which codec a client wants that is not there.
func TestUnknownCodecIsAWarning(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	log := lockedBuffer{grown: make(chan struct{}, 1)}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, &log, io.Discard))
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	_ = call(testContext(t), cc, "x", ForceCodecV2(otherName{codecFor("proto")}))
	if want := `Unsupported codec "other" of `; !strings.Contains(log.String(), want) {
		t.Errorf("no warning %q in:\n%s", want, log.String())
	}
}

// TestBadHandshakesAreNoWarnings: anybody who reaches the port of a server can make a handshake fail.
func TestBadHandshakesAreNoWarnings(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	info, more := lockedBuffer{grown: make(chan struct{}, 1)}, lockedBuffer{grown: make(chan struct{}, 1)}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(&info, &more, io.Discard))
	s := serve(t, newEcho(), Creds(credentials.NewTLS(nil)))
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if info.await(testContext(t), "the handshake with", 1) != 1 {
		t.Errorf("not logged: %s", info.String())
	}
	if strings.Contains(more.String(), "handshake") {
		t.Errorf("warnings: %s", more.String())
	}
}
