// SPDX-License-Identifier: Apache-2.0

package csds

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestConfig(t *testing.T) {
	at := time.Unix(1, 0)
	failed := errors.New("failed")
	raw := []byte{10, 1, 'n'}
	for _, tt := range []struct {
		r                client.Resource
		status           adminv3.ClientResourceStatus
		contents, failed bool
	}{
		{client.Resource{State: client.Requested}, adminv3.ClientResourceStatus_REQUESTED, false, false},
		{client.Resource{State: client.DoesNotExist, Err: failed}, adminv3.ClientResourceStatus_DOES_NOT_EXIST, false, false},
		{client.Resource{State: client.DoesNotExist, Raw: raw, Version: "1", Updated: at, Err: failed, ErrTime: at}, adminv3.ClientResourceStatus_DOES_NOT_EXIST, true, true},
		{client.Resource{State: client.ACKed, Raw: raw, Version: "1", Updated: at}, adminv3.ClientResourceStatus_ACKED, true, false},
		{client.Resource{State: client.NACKed, Err: failed, ErrVersion: "2", ErrTime: at}, adminv3.ClientResourceStatus_NACKED, false, true},
		{client.Resource{State: client.NACKed, Raw: raw, Version: "1", Updated: at, Err: failed, ErrVersion: "2", ErrTime: at}, adminv3.ClientResourceStatus_NACKED, true, true},
		{client.Resource{State: client.ReceivedError, Err: failed, ErrTime: at}, adminv3.ClientResourceStatus_RECEIVED_ERROR, false, true},
		{client.Resource{State: client.TimedOut, Err: failed, ErrTime: at}, adminv3.ClientResourceStatus_TIMEOUT, false, true},
		{client.Resource{State: 99}, adminv3.ClientResourceStatus_UNKNOWN, false, false},
	} {
		tt.r.TypeURL, tt.r.Name = resource.ClusterURL, "n"
		got := config(&tt.r)
		if got.TypeUrl != resource.ClusterURL || got.Name != "n" || got.ClientStatus != tt.status {
			t.Errorf("%+v: %v", tt.r, got)
		}
		if c := got.XdsConfig; (c != nil) != tt.contents || tt.contents && (c.TypeUrl != resource.ClusterURL || got.VersionInfo != "1" || !got.LastUpdated.AsTime().Equal(at)) {
			t.Errorf("%+v: %v", tt.r, got)
		}
		if e := got.ErrorState; (e != nil) != tt.failed || tt.failed && (e.Details != "failed" || e.VersionInfo != tt.r.ErrVersion || !e.LastUpdateAttempt.AsTime().Equal(at)) {
			t.Errorf("%+v: %v", tt.r, got)
		}
	}
}

// TestConfigIsUTF8: names that are not UTF-8 leave the response a message that can be sent.
func TestConfigIsUTF8(t *testing.T) {
	got := config(&client.Resource{TypeURL: resource.ListenerURL, Name: "\xff", State: client.NACKed, Err: errors.New("not \xff")})
	if _, err := proto.Marshal(got); err != nil {
		t.Error(err)
	}
}

// service has two clients, one of which asks for something.
func service(t *testing.T) *ClientStatusDiscoveryServer {
	t.Helper()
	b, err := bootstrap.Parse([]byte(`{"xds_servers":[{"server_uri":"passthrough:///127.0.0.1:0","channel_creds":[{"type":"insecure"}]}],"node":{"id":"me"}}`), bootstrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pool := xdsclient.NewPoolOf(b)
	for _, name := range []string{"xds:///b", "#server"} {
		c, release, err := pool.Client(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			release()
			c.Close()
		})
		if name == "#server" {
			continue
		}
		for _, cluster := range []string{"y", "x"} {
			t.Cleanup(client.Watch(c.Client, c.Clusters, cluster, watcher[*resource.Cluster]{}))
		}
	}
	return &ClientStatusDiscoveryServer{from: &source{func() *xdsclient.Pool { return pool }}}
}

type watcher[T any] struct{}

func (watcher[T]) Changed(T, error) {}
func (watcher[T]) Ambient(error)    {}

func TestA40Fetch(t *testing.T) {
	s := service(t)
	got, err := s.FetchClientStatus(t.Context(), &statusv3.ClientStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Config) != 2 || got.Config[0].ClientScope != "#server" || got.Config[1].ClientScope != "xds:///b" {
		t.Fatal(got)
	}
	if n := got.Config[0].Node; n.GetId() != "me" || n.GetUserAgentName() == "" || len(got.Config[0].GenericXdsConfigs) != 0 {
		t.Error(n)
	}
	list := got.Config[1].GenericXdsConfigs
	if len(list) != 2 || list[0].Name != "x" || list[1].Name != "y" || list[0].ClientStatus != adminv3.ClientResourceStatus_REQUESTED {
		t.Error(list)
	}
	_, err = s.FetchClientStatus(t.Context(), &statusv3.ClientStatusRequest{NodeMatchers: []*matcherv3.NodeMatcher{{}}})
	if status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
}

func TestWithoutContents(t *testing.T) {
	list := []client.Resource{{TypeURL: resource.ClusterURL, Name: "n", State: client.ACKed, Raw: []byte{1}}}
	if got := configs(list, true); got[0].XdsConfig != nil || got[0].VersionInfo != "" {
		t.Error(got)
	}
	if got := configs(list, false); !proto.Equal(got[0], config(&list[0])) {
		t.Error(got)
	}
}

// stream is one of the service's.
type stream struct {
	grpc.ServerStream
	requests []*statusv3.ClientStatusRequest
	sent     int
	end      error
}

func (*stream) Context() context.Context { return context.Background() }

func (s *stream) Recv() (*statusv3.ClientStatusRequest, error) {
	if len(s.requests) == 0 {
		return nil, s.end
	}
	r := s.requests[0]
	s.requests = s.requests[1:]
	return r, nil
}

func (s *stream) Send(*statusv3.ClientStatusResponse) error {
	s.sent++
	return nil
}

func TestA40Stream(t *testing.T) {
	s := service(t)
	st := &stream{requests: []*statusv3.ClientStatusRequest{{}, {}}, end: io.EOF}
	if err := s.StreamClientStatus(st); err != nil || st.sent != 2 {
		t.Errorf("%v, %d answers", err, st.sent)
	}
	broken := errors.New("broken")
	if err := s.StreamClientStatus(&stream{end: broken}); err != broken {
		t.Error(err)
	}
	st = &stream{requests: []*statusv3.ClientStatusRequest{{NodeMatchers: []*matcherv3.NodeMatcher{{}}}}, end: io.EOF}
	if err := s.StreamClientStatus(st); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	s, err := NewClientStatusDiscoveryServer()
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}
