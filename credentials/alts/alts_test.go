// SPDX-License-Identifier: Apache-2.0

package alts

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts/internal/altstest"
	"google.golang.org/grpc/credentials/alts/internal/handshaker/service"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

func TestHandshake(t *testing.T) {
	var mu sync.Mutex
	var start *altspb.StartClientHandshakeReq
	addr := startService(t, &altstest.Service{Observe: func(req *altspb.HandshakerReq) {
		if s := req.GetClientStart(); s != nil {
			mu.Lock()
			start = s
			mu.Unlock()
		}
	}})
	client, server := shake(t, clientCreds(addr, "x", altstest.ServerAccount), serverCreds(addr))
	if client.err != nil || server.err != nil {
		t.Fatal(client.err, server.err)
	}
	mu.Lock()
	if start.GetTargetName() != "the.authority" || len(start.GetTargetIdentities()) != 2 || start.GetMaxFrameSize() != 1<<20 {
		t.Errorf("start: %v", start)
	}
	mu.Unlock()
	for _, tt := range []struct {
		info        credentials.AuthInfo
		local, peer string
	}{
		{client.info, altstest.ClientAccount, altstest.ServerAccount},
		{server.info, altstest.ServerAccount, altstest.ClientAccount},
	} {
		if tt.info.AuthType() != "alts" {
			t.Errorf("type %q", tt.info.AuthType())
		}
		if err := credentials.CheckSecurityLevel(tt.info, credentials.PrivacyAndIntegrity); err != nil {
			t.Error(err)
		}
		info, err := AuthInfoFromPeer(&peer.Peer{AuthInfo: tt.info})
		if err != nil {
			t.Fatal(err)
		}
		if info.LocalServiceAccount() != tt.local || info.PeerServiceAccount() != tt.peer {
			t.Errorf("%q to %q, want %q to %q", info.LocalServiceAccount(), info.PeerServiceAccount(), tt.local, tt.peer)
		}
		if info.ApplicationProtocol() != "grpc" || info.RecordProtocol() != "ALTSRP_GCM_AES128_REKEY" ||
			info.SecurityLevel() != altspb.SecurityLevel_INTEGRITY_AND_PRIVACY || info.PeerRPCVersions().GetMaxRpcVersion().GetMajor() != 2 {
			t.Errorf("info: %+v", info)
		}
	}
	msg := bytes.Repeat([]byte("0123456789"), 100_000)
	go client.conn.Write(msg)
	got := make([]byte, len(msg))
	if _, err := io.ReadFull(server.conn, got); err != nil || !bytes.Equal(got, msg) {
		t.Errorf("the message did not arrive: %v", err)
	}
}

// The channel must not wait for a platform that it is not on, nor keep the
// connection.
func TestUntrustedPlatform(t *testing.T) {
	for _, tt := range []struct {
		name  string
		shake func(net.Conn) (net.Conn, credentials.AuthInfo, error)
	}{
		{"client", func(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
			c := NewClientCreds(DefaultClientOptions()).(*creds)
			c.env = newEnvironment(false)
			return c.ClientHandshake(t.Context(), "x", raw)
		}},
		{"server", func(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
			c := NewServerCreds(DefaultServerOptions()).(*creds)
			c.env = newEnvironment(false)
			return c.ServerHandshake(raw)
		}},
	} {
		a, b := net.Pipe()
		if _, _, err := tt.shake(a); err != ErrUntrustedPlatform {
			t.Errorf("%s: %v", tt.name, err)
		}
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%s: the connection is still open: %v", tt.name, err)
		}
	}
	if got, want := ErrUntrustedPlatform.Error(), "ALTS: untrusted platform. ALTS is only supported on GCP"; got != want {
		t.Errorf("the error says %q", got)
	}
}

// Options that leave the address out mean the service of Google Cloud's machines.
func TestDefaultService(t *testing.T) {
	for _, c := range []credentials.TransportCredentials{NewClientCreds(&ClientOptions{}), NewServerCreds(&ServerOptions{})} {
		if got := c.(*creds).service; got != defaultService {
			t.Errorf("the handshaker service is at %q", got)
		}
	}
}

func TestTargetServiceAccounts(t *testing.T) {
	addr := startService(t, &altstest.Service{})
	for _, c := range []credentials.TransportCredentials{
		clientCreds(addr, "other@example.com"),
		clientCreds(addr, "other@example.com").Clone(),
	} {
		client, server := shake(t, c, serverCreds(addr))
		if status.Code(client.err) != codes.PermissionDenied {
			t.Errorf("client: %v", client.err)
		}
		if server.err == nil {
			t.Error("the server's handshake succeeded")
		}
	}
}

func TestClone(t *testing.T) {
	opts := &ClientOptions{TargetServiceAccounts: []string{"a", "b"}, HandshakerServiceAddress: "addr"}
	c := NewClientCreds(opts).(*creds)
	opts.TargetServiceAccounts[0] = "changed"
	if err := c.OverrideServerName("name"); err != nil {
		t.Fatal(err)
	}
	clone := c.Clone().(*creds)
	if want := (&creds{service: "addr", accounts: []string{"a", "b"}, name: "name", env: c.env}); !reflect.DeepEqual(clone, want) {
		t.Errorf("%+v, want %+v", clone, want)
	}
	clone.OverrideServerName("another")
	clone.accounts[0] = "z"
	want := credentials.ProtocolInfo{SecurityProtocol: "alts", SecurityVersion: "1.0", ServerName: "name"}
	if c.Info() != want || c.accounts[0] != "a" {
		t.Errorf("the original changed: %+v, %v", c.Info(), c.accounts)
	}
}

func TestDefaults(t *testing.T) {
	const addr = "dns:///metadata.google.internal.:8080"
	if o := DefaultClientOptions(); o.HandshakerServiceAddress != addr || o.TargetServiceAccounts != nil {
		t.Errorf("client: %+v", o)
	}
	if o := DefaultServerOptions(); o.HandshakerServiceAddress != addr {
		t.Errorf("server: %+v", o)
	}
	DefaultClientOptions().HandshakerServiceAddress = "x"
	if DefaultClientOptions().HandshakerServiceAddress != addr {
		t.Error("the options are shared")
	}
}

func TestClientAuthorizationCheck(t *testing.T) {
	addr := startService(t, &altstest.Service{})
	_, server := shake(t, clientCreds(addr), serverCreds(addr))
	over := func(info credentials.AuthInfo) context.Context {
		return peer.NewContext(context.Background(), &peer.Peer{AuthInfo: info})
	}
	for _, tt := range []struct {
		name     string
		ctx      context.Context
		accounts []string
		want     codes.Code
	}{
		{"listed", over(server.info), []string{"x", altstest.ClientAccount}, codes.OK},
		{"in upper case", over(server.info), []string{strings.ToUpper(altstest.ClientAccount)}, codes.OK},
		{"not listed", over(server.info), []string{"x"}, codes.PermissionDenied},
		{"no list", over(server.info), nil, codes.PermissionDenied},
		{"not ALTS", over(credentials.TLSInfo{}), []string{altstest.ClientAccount}, codes.PermissionDenied},
		{"nothing", over(nil), []string{altstest.ClientAccount}, codes.PermissionDenied},
		{"no peer", context.Background(), []string{altstest.ClientAccount}, codes.PermissionDenied},
	} {
		if err := ClientAuthorizationCheck(tt.ctx, tt.accounts); status.Code(err) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// More clients than there are places: all get through, and never too many at once.
func TestConcurrentHandshakes(t *testing.T) {
	s := &altstest.Service{}
	addr := startService(t, s)
	c := onCloud(NewClientCreds(&ClientOptions{HandshakerServiceAddress: addr}), 2)
	srv := onCloud(NewServerCreds(&ServerOptions{HandshakerServiceAddress: addr}), 2)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			client, server := shake(t, c, srv)
			if client.err != nil || server.err != nil {
				t.Error(client.err, server.err)
			}
		})
	}
	wg.Wait()
	if n := s.Most(); n > 4+4 { // a stream may outlive its handshake by a moment
		t.Errorf("%d handshakes at once", n)
	}
}

// A client that waits for a place gives up with its context.
func TestWaitForPlaceEnds(t *testing.T) {
	c := onCloud(NewClientCreds(&ClientOptions{HandshakerServiceAddress: "127.0.0.1:1"}), 1)
	c.env.clientSlots <- struct{}{}
	t.Cleanup(service.CloseIdle)
	raw, _ := tcpPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.ClientHandshake(ctx, "x", raw); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The handshake ends with its context, whoever it waits for.
func TestCancel(t *testing.T) {
	hold := make(chan struct{})
	reached := make(chan struct{}, 4)
	for name, s := range map[string]*altstest.Service{
		"silent peer":    {Observe: func(*altspb.HandshakerReq) { reached <- struct{}{} }},
		"silent service": {Observe: func(*altspb.HandshakerReq) { reached <- struct{}{}; <-hold }},
	} {
		t.Run(name, func(t *testing.T) {
			c := clientCreds(startService(t, s))
			raw, _ := tcpPair(t)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-reached
				cancel()
			}()
			if _, _, err := c.ClientHandshake(ctx, "x", raw); !errors.Is(err, context.Canceled) && status.Code(errors.Unwrap(err)) != codes.Canceled {
				t.Errorf("%v", err)
			}
			if _, err := raw.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the connection is open: %v", err)
			}
			if name == "silent service" {
				close(hold)
			}
		})
	}
}

// A client that says nothing is disconnected in time.
func TestServerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onCloud(NewServerCreds(&ServerOptions{HandshakerServiceAddress: "127.0.0.1:1"}), 1)
		a, b := net.Pipe()
		begin := time.Now()
		_, _, err := s.ServerHandshake(a)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != handshakeTimeout {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the connection is open: %v", err)
		}
		service.CloseIdle()
	})
}

// TestNoService: a handshake fails at once if the handshaker service can't be reached.
func TestNoService(t *testing.T) {
	t.Cleanup(service.CloseIdle)
	for _, addr := range []string{"unix:" + t.TempDir() + "/missing", "passthrough:///"} {
		raw, _ := tcpPair(t)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, _, err := clientCreds(addr).ClientHandshake(ctx, "x", raw)
		wantNoService(t, addr, err)
		raw, peer := tcpPair(t)
		if _, err := peer.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		_, _, err = serverCreds(addr).ServerHandshake(raw)
		wantNoService(t, addr, err)
	}
}

func wantNoService(t *testing.T, addr string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "handshaker service: rpc error: code = Unavailable") {
		t.Errorf("%s: %v", addr, err)
	}
	if _, ok := status.FromError(err); ok {
		t.Errorf("%s: %v is a status", addr, err)
	}
}
