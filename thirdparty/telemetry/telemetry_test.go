// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/status"
)

// exercise makes one RPC that succeeds and one that fails, recorded as o says on both sides.
func exercise(t *testing.T, o opentelemetry.Options) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(opentelemetry.ServerOption(o))
	healthpb.RegisterHealthServer(s, health.NewServer())
	go func() { _ = s.Serve(lis) }()
	defer s.GracefulStop()
	cc, err := grpc.NewClient("passthrough:///"+lis.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), opentelemetry.DialOption(o))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	c := healthpb.NewHealthClient(cc)
	if _, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "none"}); status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
}

func TestPrometheus(t *testing.T) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	exercise(t, opentelemetry.Options{MetricsOptions: opentelemetry.MetricsOptions{MeterProvider: provider}})

	web := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	defer web.Close()
	resp, err := http.Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(err, resp.Status, string(page))
	}
	for _, want := range []struct{ metric, status, value string }{
		{"grpc_client_attempt_started_total", "", "2"},
		{"grpc_client_attempt_duration_seconds_count", "OK", "1"},
		{"grpc_client_attempt_duration_seconds_count", "NOT_FOUND", "1"},
		{"grpc_client_attempt_sent_total_compressed_message_size_bytes_sum", "NOT_FOUND", "6"},
		{"grpc_client_attempt_rcvd_total_compressed_message_size_bytes_sum", "OK", "2"},
		{"grpc_client_call_duration_seconds_count", "OK", "1"},
		{"grpc_server_call_started_total", "", "2"},
		{"grpc_server_call_duration_seconds_count", "NOT_FOUND", "1"},
		{"grpc_server_call_sent_total_compressed_message_size_bytes_sum", "OK", "2"},
		{"grpc_server_call_rcvd_total_compressed_message_size_bytes_sum", "NOT_FOUND", "6"},
	} {
		if !slices.ContainsFunc(strings.Split(string(page), "\n"), func(line string) bool {
			return strings.HasPrefix(line, want.metric+"{") && strings.HasSuffix(line, "} "+want.value) &&
				strings.Contains(line, `grpc_method="grpc.health.v1.Health/Check"`) &&
				(want.status == "" || strings.Contains(line, `grpc_status="`+want.status+`"`)) &&
				strings.Contains(line, `otel_scope_name="grpc-go"`) && strings.Contains(line, `otel_scope_version="`+grpc.Version+`"`)
		}) {
			t.Errorf("no %+v", want)
		}
	}
	if t.Failed() {
		t.Log(string(page))
	}
}

// startCollector builds a collector and starts it at a port that is free. What it prints
// comes line by line.
func startCollector(t *testing.T) (addr string, lines <-chan string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "collector")
	build := exec.Command("go", "build", "-o", program, "./collector")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = lis.Addr().String()
	_ = lis.Close()
	config := fmt.Sprintf(`yaml: {receivers: {otlp: {protocols: {grpc: {endpoint: "%s"}}}}, exporters: {debug: {verbosity: detailed}},
		service: {telemetry: {metrics: {level: none}}, pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}}`, addr)
	c := exec.Command(program, "--config", config)
	out, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout = c.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ch := make(chan string, 10_000)
	go func() {
		defer close(ch)
		for s := bufio.NewScanner(out); s.Scan(); {
			ch <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		for range ch { // until it has closed its output
		}
		_ = c.Wait()
	})
	return addr, ch
}

func TestCollector(t *testing.T) {
	addr, lines := startCollector(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(addr), otlptracegrpc.WithInsecure(),
		otlptracegrpc.WithDialOption(grpc.WithDefaultCallOptions(grpc.WaitForReady(true))))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	exercise(t, opentelemetry.Options{TraceOptions: experimental.TraceOptions{
		TracerProvider: provider, TextMapPropagator: propagation.TraceContext{},
	}})
	if err := provider.Shutdown(ctx); err != nil { // which sends all there is
		t.Fatal(err)
	}
	seen := map[string]int{}
	want := map[string]int{
		"Name : Sent.grpc.health.v1.Health.Check":    2,
		"Name : Attempt.grpc.health.v1.Health.Check": 2,
		"Name : Recv.grpc.health.v1.Health.Check":    2,
		"Kind : Client":                                2,
		"Kind : Internal":                              2,
		"Kind : Server":                                2,
		"Status code : Error":                          3,
		"Status message : unknown service":             3,
		"-> Name: Outbound message":                    3,
		"-> Name: Inbound message":                     3,
		"InstrumentationScope grpc-go " + grpc.Version: 1,
	}
	complete := func() bool {
		for line, n := range want {
			if seen[line] != n {
				return false
			}
		}
		return true
	}
	for !complete() {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatal("the collector is gone")
			}
			seen[strings.Join(strings.Fields(line), " ")]++
		case <-ctx.Done():
			for line, n := range want {
				t.Errorf("%q: %d times, want %d", line, seen[line], n)
			}
			t.Fatal(seen)
		}
	}
}
