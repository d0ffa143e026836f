// SPDX-License-Identifier: Apache-2.0

package nettrace_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/trace"
	"google.golang.org/protobuf/types/known/emptypb"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/experimental/nettrace"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// page is what /debug/requests shows of a family.
func page(family string) string {
	w := httptest.NewRecorder()
	trace.Render(w, httptest.NewRequest(http.MethodGet, "/debug/requests?exp=1&fam="+family+"&b=0", nil), true)
	return w.Body.String()
}

// traced is a health server that looks for its trace.
type traced struct {
	*health.Server
	found bool
}

func (s *traced) Check(ctx context.Context, r *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	_, s.found = trace.FromContext(ctx)
	return s.Server.Check(ctx, r)
}

func TestRequests(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, service := grpc.NewServer(), &traced{Server: health.NewServer()}
	healthpb.RegisterHealthServer(s, service)
	go s.Serve(lis)
	defer s.Stop()
	cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	client := healthpb.NewHealthClient(cc)
	if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || service.found {
		t.Fatalf("%v; a trace without EnableTracing: %v", err, service.found)
	}
	if strings.Contains(page("grpc.Sent.Health"), "Check") {
		t.Error("recorded without EnableTracing")
	}

	grpc.EnableTracing = true
	defer func() { grpc.EnableTracing = false }()
	if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || !service.found {
		t.Fatalf("%v; a trace in the handler's context: %v", err, service.found)
	}
	_, err = client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "unheard of"})
	if status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
	if err := cc.Invoke(t.Context(), "/a.Other/M", &emptypb.Empty{}, &emptypb.Empty{}); status.Code(err) != codes.Unimplemented {
		t.Fatal(err)
	}
	s.GracefulStop() // what the server records is there

	for family, want := range map[string][]string{
		"grpc.Sent.Health": {"/grpc.health.v1.Health/Check", "RPC: to " + lis.Addr().String() + " deadline:none", "sent: service:", "recv: status:SERVING", "NotFound"},
		"grpc.Recv.Health": {"/grpc.health.v1.Health/Check", "RPC: from 127.0.0.1:", "recv: service:", "sent: status:SERVING", "NotFound"},
		"grpc.Sent.Other":  {"/a.Other/M", "Unimplemented"},
	} {
		text := page(family)
		for _, w := range want {
			if !strings.Contains(strings.ReplaceAll(text, "&#34;", `"`), w) {
				t.Errorf("%s: no %q in\n%s", family, w, text)
			}
		}
	}
}
