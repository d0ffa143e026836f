// SPDX-License-Identifier: Apache-2.0

package siblings

import (
	"net"
	"testing"

	"go.opencensus.io/stats/view"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats/opencensus"
)

// The views of both sides count a call, with its method and its status.
func TestOpenCensusCountsCalls(t *testing.T) {
	views := append([]*view.View{}, opencensus.DefaultClientViews...)
	views = append(views, opencensus.DefaultServerViews...)
	if err := view.Register(views...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { view.Unregister(views...) })
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(opencensus.ServerOption(opencensus.TraceOptions{}))
	healthpb.RegisterHealthServer(s, health.NewServer())
	go s.Serve(lis)
	cc, err := grpc.NewClient(lis.Addr().String(), opencensus.DialOption(opencensus.TraceOptions{}),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	cc.Close()
	s.GracefulStop() // now both sides have told all
	for _, name := range []string{"grpc.io/client/completed_rpcs", "grpc.io/server/completed_rpcs"} {
		rows, err := view.RetrieveData(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1 || rows[0].Data.(*view.CountData).Value != 1 {
			t.Errorf("%s: %v, want one call", name, rows)
			continue
		}
		tags := make(map[string]string)
		for _, tag := range rows[0].Tags {
			tags[tag.Key.Name()] = tag.Value
		}
		side := name[len("grpc.io/") : len("grpc.io/")+len("client")]
		if tags["grpc_"+side+"_method"] != "grpc.health.v1.Health/Check" || tags["grpc_"+side+"_status"] != "OK" {
			t.Errorf("%s: tags %v", name, tags)
		}
	}
}
