// SPDX-License-Identifier: Apache-2.0

package xds

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// bootstrapWith is a configuration whose control plane is nowhere.
func bootstrapWith(more string) []byte {
	return []byte(`{"xds_servers":[{"server_uri":"passthrough:///127.0.0.1:0","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"}` + more + `}`)
}

const serverTemplate = `,"server_listener_resource_name_template":"server/%s"`

func TestA36NewServer(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                       "bootstrap configuration",
		string(bootstrapWith("")): "missing server_listener_resource_name_template",
	} {
		if _, err := NewGRPCServer(BootstrapContentsForTesting([]byte(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	s, err := NewGRPCServer(BootstrapContentsForTesting(bootstrapWith(serverTemplate)), grpc.MaxRecvMsgSize(1))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.GetServiceInfo()); n != 0 {
		t.Errorf("%d services", n)
	}
	s.GracefulStop()
	s.Stop()
}

func TestA36StoppedServer(t *testing.T) {
	s, err := NewGRPCServer(BootstrapContentsForTesting(bootstrapWith(serverTemplate)))
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(lis); err != grpc.ErrServerStopped {
		t.Error(err)
	}
	if _, err := lis.Accept(); err == nil {
		t.Error("the listener is open")
	}
}

// TestA36Unreachable: without a control plane a server serves nothing, and says why.
func TestA36Unreachable(t *testing.T) {
	b, err := xdsclient.ParseBootstrap(bootstrapWith(serverTemplate))
	if err != nil {
		t.Fatal(err)
	}
	modes := make(chan ServingModeChangeArgs, 100)
	s, err := NewGRPCServer(ClientPoolForTesting(xdsclient.NewPoolOf(b)), ServingModeCallback(func(_ net.Addr, a ServingModeChangeArgs) {
		select {
		case modes <- a:
		default:
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	if m := <-modes; m.Mode != connectivity.ServingModeNotServing || m.Err == nil || !strings.Contains(m.Err.Error(), "[xDS node id: n]") {
		t.Errorf("%+v", m)
	}
	c, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	s.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
