// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/resource"
)

// reported is a control plane that asks for reports, and gets them.
type reported struct {
	ctx     context.Context
	asked   bool
	reports chan *lrsv3.LoadStatsRequest
}

func (r *reported) NewStream(ctx context.Context, method string) (client.Stream, error) {
	if !strings.HasSuffix(method, "/StreamLoadStats") { // there are no resources
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r.ctx = ctx
	return r, nil
}

func (*reported) Close() {}

func (r *reported) Send(m proto.Message) error {
	r.reports <- m.(*lrsv3.LoadStatsRequest)
	return nil
}

func (r *reported) Recv(m proto.Message) error {
	if r.asked {
		<-r.ctx.Done()
		return r.ctx.Err()
	}
	r.asked = true
	proto.Merge(m, &lrsv3.LoadStatsResponse{SendAllClusters: true, LoadReportingInterval: durationpb.New(time.Second)})
	return nil
}

// TestUnusedPick: a pick whose SubConn had no connection is no RPC in load reports, and makes room for another RPC.
func TestUnusedPick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := bootstrap.Parse([]byte(`{"xds_servers":[{"server_uri":"p","channel_creds":[{"type":"insecure"}]}]}`), bootstrap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		plane := &reported{reports: make(chan *lrsv3.LoadStatsRequest, 10)}
		c := client.New(client.Config{Bootstrap: b, Dial: func(*bootstrap.Server) (client.Transport, error) { return plane, nil }})
		defer c.Close()
		loads, stop := c.ReportLoad(b.Servers[0])
		defer stop()
		load, release := loads.Cluster("c", "")
		defer release()
		<-plane.reports // says who we are
		n := requestsOf(requestKey{"c", ""})
		defer n.release()
		at := newSettings(&dependency.Cluster{Resource: &resource.Cluster{Name: "c", MaxRequests: 5}}, n, load, nil).place(resource.LocalityID{Zone: "z"})
		for _, end := range []balancer.DoneInfo{{BytesSent: true}, {}} {
			n.Add(1)
			at.load.Started()
			at.done(end)
		}
		if n.Load() != 0 {
			t.Errorf("%d RPCs are under way", n.Load())
		}
		stats := (<-plane.reports).GetClusterStats()
		if len(stats) != 1 || len(stats[0].UpstreamLocalityStats) != 1 {
			t.Fatalf("reported: %v", stats)
		}
		if l := stats[0].UpstreamLocalityStats[0]; l.TotalIssuedRequests != 1 || l.TotalSuccessfulRequests != 1 || l.TotalRequestsInProgress != 0 {
			t.Errorf("reported: %v", l)
		}
	})
}
