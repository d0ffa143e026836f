// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const fewCalls = 60

// keepingCodec keeps the buffers of short messages.
type keepingCodec struct {
	encoding.CodecV2
	*keeper
	side string
}

func (c keepingCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if data.Len() < 100 {
		data.Ref()
		c.keep(c.side+": buffers", append(mem.BufferSlice(nil), data...))
	}
	return c.CodecV2.Unmarshal(data, v)
}

// TestRetentionOfBuffers: the buffers of short messages, which came beside each other and beside
// long ones.
func TestRetentionOfBuffers(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	k := newKeeper()
	codec := func(side string) keepingCodec { return keepingCodec{encoding.GetCodecV2(proto.Name), k, side} }
	addr, stop := serveRetention(t, grpc.ForceServerCodecV2(codec("server")), grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error {
		for {
			m := new(wrapperspb.StringValue)
			if ss.RecvMsg(m) != nil {
				return nil
			}
			if err := ss.SendMsg(m); err != nil {
				return err
			}
		}
	}))
	func() {
		defer stop()
		cc, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer cc.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/a.B/C", grpc.ForceCodecV2(codec("client")))
		if err != nil {
			t.Fatal(err)
		}
		for i := range fewCalls {
			for _, text := range []string{fmt.Sprint("message ", i), strings.Repeat("m", 4000), "a", "b", "c"} { // they come together
				if err := s.SendMsg(wrapperspb.String(text)); err != nil {
					t.Fatal(err)
				}
			}
			for range 5 {
				if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}()
	k.check(t, nil)
}

// TestRetentionOfErrors: the errors of calls that fail for reasons of all kinds, each on a
// connection of its own.
func TestRetentionOfErrors(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	cert, pool := testutils.Certificate(t)
	page := strings.Repeat("<p>", retentionPad/3)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte(page))
	}))
	web.EnableHTTP2, web.TLS = true, &tls.Config{Certificates: []tls.Certificate{cert}}
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	plain := httptest.NewServer(web.Config.Handler)
	defer plain.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	lost := listenAndHangUp(t)
	secure := credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "test.server"})
	wrong := credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "other.server"})
	k := newKeeper()
	limits := map[string]int64{}
	for _, tc := range []struct {
		name, addr string
		creds      credentials.TransportCredentials
		cancelled  bool
	}{
		{"a web server over TLS", web.Listener.Addr().String(), secure, false},
		{"a server of HTTP/1", plain.Listener.Addr().String(), insecure.NewCredentials(), false},
		{"nobody there", closed.Addr().String(), insecure.NewCredentials(), false},
		{"hangs up", lost, insecure.NewCredentials(), false},
		{"another name", web.Listener.Addr().String(), wrong, false},
		{"cancelled", web.Listener.Addr().String(), secure, true},
	} {
		for range fewCalls {
			err := failingCall(t, tc.addr, tc.creds, tc.cancelled)
			k.keep(tc.name, err)
			limits[tc.name] = max(limits[tc.name], int64(defaultLimit+2*len(err.Error())))
		}
	}
	k.check(t, limits)
}

func failingCall(t *testing.T, addr string, creds credentials.TransportCredentials, cancelled bool) error {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if cancelled {
		cancel()
	}
	err = cc.Invoke(ctx, "/a.B/C", wrapperspb.String("x"), new(wrapperspb.StringValue))
	if err == nil {
		t.Fatal("the call did not fail")
	}
	return err
}

// listenAndHangUp closes each connection.
func listenAndHangUp(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// TestRetentionOfServiceConfigs: what a program asks for of a long service config.
func TestRetentionOfServiceConfigs(t *testing.T) {
	if !testutils.InChild(t, "") { // where no other test leaves anything that ends meanwhile
		return
	}
	addr := listenAndHangUp(t)
	k := newKeeper()
	var others strings.Builder
	for i := range 200 {
		fmt.Fprintf(&others, `{"name": [{"service": "other.Service%d", "method": "%s"}], "timeout": "1s", "waitForReady": true},`, i, strings.Repeat("m", 100))
	}
	for range fewCalls {
		cc, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}], "methodConfig": [`+others.String()+
				`{"name": [{"service": "a.B"}], "timeout": "2s", "waitForReady": true, "maxRequestMessageBytes": 100,
				"retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := cc.Invoke(t.Context(), "/b.C/D", wrapperspb.String("x"), new(wrapperspb.StringValue)); err == nil {
			t.Fatal("nobody should have answered")
		}
		c := cc.GetMethodConfig("/a.B/C")
		if c.Timeout == nil || c.WaitForReady == nil || c.MaxReqSize == nil || c.RetryPolicy == nil {
			t.Fatalf("%+v", c)
		}
		k.keep("timeout", c.Timeout)
		k.keep("waitForReady", c.WaitForReady)
		k.keep("MaxReqSize", c.MaxReqSize)
		k.keep("RetryPolicy", c.RetryPolicy)
		k.keep("whole", c)
		cc.Close()
	}
	k.check(t, map[string]int64{"whole": 512})
}
