// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const (
	unknown    = healthpb.HealthCheckResponse_SERVICE_UNKNOWN
	serving    = healthpb.HealthCheckResponse_SERVING
	notServing = healthpb.HealthCheckResponse_NOT_SERVING
)

func check(t *testing.T, s *Server, service string) healthpb.HealthCheckResponse_ServingStatus {
	t.Helper()
	resp, err := s.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status
}

// resumes calls Resume when something is written to it.
type resumes struct{ *Server }

func (r resumes) Write(p []byte) (int, error) {
	r.Resume()
	return len(p), nil
}

// TestLoggerUsesServer: the program's logger may use the server.
func TestLoggerUsesServer(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	s := NewServer()
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(resumes{s}, io.Discard, io.Discard))
	s.Shutdown()
	s.SetServingStatus("", notServing)
	if got := check(t, s, ""); got != serving {
		t.Errorf("%v", got)
	}
}

func TestCheck(t *testing.T) {
	s := NewServer()
	if got := check(t, s, ""); got != serving {
		t.Errorf("the server: %v", got)
	}
	if _, err := s.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "a"}); status.Code(err) != codes.NotFound {
		t.Errorf("unknown: %v", err)
	}
	s.SetServingStatus("a", notServing)
	if got := check(t, s, "a"); got != notServing {
		t.Errorf("a: %v", got)
	}
}

func TestShutdownAndResume(t *testing.T) {
	s := NewServer()
	s.SetServingStatus("a", serving)
	s.SetServingStatus("b", notServing)
	s.Shutdown()
	s.SetServingStatus("a", serving)
	s.SetServingStatus("c", serving)
	for _, service := range []string{"", "a", "b"} {
		if got := check(t, s, service); got != notServing {
			t.Errorf("after Shutdown %q: %v", service, got)
		}
	}
	s.Resume()
	s.SetServingStatus("c", notServing)
	for service, want := range map[string]healthpb.HealthCheckResponse_ServingStatus{"": serving, "a": serving, "b": serving, "c": notServing} {
		if got := check(t, s, service); got != want {
			t.Errorf("after Resume %q: %v", service, got)
		}
	}
}

func TestList(t *testing.T) {
	s := NewServer()
	for i := 1; i <= 100; i++ {
		list, err := s.List(t.Context(), nil)
		if err != nil || len(list.Statuses) != i || list.Statuses[""].Status != serving {
			t.Fatalf("%d services: %d, %v", i, len(list.GetStatuses()), err)
		}
		s.SetServingStatus(fmt.Sprint(i), serving)
	}
	if _, err := s.List(t.Context(), nil); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("101 services: %v", err)
	}
}

// watchStream is the server's end of a Watch.
type watchStream struct {
	ctx  context.Context
	sent chan healthpb.HealthCheckResponse_ServingStatus
	err  error
}

func (w *watchStream) Context() context.Context     { return w.ctx }
func (w *watchStream) SetHeader(metadata.MD) error  { return nil }
func (w *watchStream) SendHeader(metadata.MD) error { return nil }
func (w *watchStream) SetTrailer(metadata.MD)       {}
func (w *watchStream) SendMsg(any) error            { return errors.ErrUnsupported }
func (w *watchStream) RecvMsg(any) error            { return errors.ErrUnsupported }

func (w *watchStream) Send(m *healthpb.HealthCheckResponse) error {
	if w.err == nil {
		w.sent <- m.Status
	}
	return w.err
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer()
		ctx, cancel := context.WithCancel(t.Context())
		stream := &watchStream{ctx: ctx, sent: make(chan healthpb.HealthCheckResponse_ServingStatus)}
		done := make(chan error, 1)
		go func() { done <- s.Watch(&healthpb.HealthCheckRequest{Service: "a"}, stream) }()

		want := func(want healthpb.HealthCheckResponse_ServingStatus) {
			t.Helper()
			if got := <-stream.sent; got != want {
				t.Errorf("%v, want %v", got, want)
			}
			synctest.Wait()
			select {
			case got := <-stream.sent:
				t.Errorf("then %v", got)
			default:
			}
		}
		want(unknown)
		s.SetServingStatus("b", serving)
		s.SetServingStatus("a", serving)
		want(serving)
		s.SetServingStatus("a", serving)
		synctest.Wait()
		s.SetServingStatus("a", notServing)
		want(notServing)
		// Several changes while the client is slow: the last one counts.
		s.SetServingStatus("a", serving)
		synctest.Wait()
		s.SetServingStatus("a", notServing)
		s.SetServingStatus("a", serving)
		s.Shutdown()
		if got := <-stream.sent; got != serving {
			t.Errorf("%v", got)
		}
		want(notServing)

		cancel()
		if err := <-done; status.Code(err) != codes.Canceled {
			t.Error(err)
		}
		if len(s.watchers) != 0 {
			t.Errorf("left: %v", s.watchers)
		}
	})
}

func TestWatchSendFails(t *testing.T) {
	s := NewServer()
	stream := &watchStream{ctx: t.Context(), err: errors.New("broken")}
	if err := s.Watch(&healthpb.HealthCheckRequest{Service: "a"}, stream); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	if len(s.watchers) != 0 {
		t.Errorf("left: %v", s.watchers)
	}
}
