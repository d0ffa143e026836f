// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/healthcheck"
	"google.golang.org/grpc/status"
)

// script is a server by what each of its calls answers: first the statuses, then the error.
type script struct {
	statuses []healthpb.HealthCheckResponse_ServingStatus
	openErr  error
	sendErr  error
	end      error // nil: the call goes on until it is cancelled
}

type scriptedStream struct {
	script
	ctx     context.Context
	service string
	closed  bool
}

func (s *scriptedStream) SendMsg(m any) error {
	s.service = m.(*healthpb.HealthCheckRequest).Service
	return s.sendErr
}

func (s *scriptedStream) CloseSend() error {
	s.closed = true
	return nil
}

func (s *scriptedStream) RecvMsg(m any) error {
	switch {
	case s.service != "svc" || !s.closed:
		return errors.New("received before sending")
	case len(s.statuses) > 0:
		m.(*healthpb.HealthCheckResponse).Status = s.statuses[0]
		s.statuses = s.statuses[1:]
		return nil
	case s.end != nil:
		return s.end
	}
	<-s.ctx.Done()
	return status.FromContextError(s.ctx.Err()).Err()
}

// run returns what is reported, each with the seconds since the beginning, and the result
// of the watch, which is cancelled when all scripts are played.
func run(t *testing.T, scripts ...script) (reports []string, result error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begin := time.Now()
	last := ""
	result = client{backoff: fixedBackoff{}}.watch(ctx, healthcheck.Params{
		Service: "svc",
		Open: func(ctx context.Context, method string) (healthcheck.Stream, error) {
			if method != "/grpc.health.v1.Health/Watch" {
				t.Errorf("method %q", method)
			}
			if len(scripts) == 0 {
				cancel()
				return nil, errors.New("over")
			}
			next := scripts[0]
			scripts = scripts[1:]
			if next.openErr != nil {
				return nil, next.openErr
			}
			return &scriptedStream{script: next, ctx: ctx}, nil
		},
		Report: func(s connectivity.State, reason error) {
			last = time.Since(begin).String() + " " + s.String()
			if (s == connectivity.TransientFailure) != (reason != nil) {
				t.Errorf("%v because of %v", s, reason)
			}
			if reason != nil && !strings.Contains(reason.Error(), "health check") {
				t.Errorf("reason %v", reason)
			}
			if _, ok := status.FromError(reason); ok && reason != nil {
				t.Errorf("reason %v, which has a status", reason)
			}
			reports = append(reports, last)
		},
	})
	return reports, result
}

type fixedBackoff struct{}

func (fixedBackoff) Backoff(retries int) time.Duration {
	return time.Second << retries
}

func TestClient(t *testing.T) {
	unavailable := status.Error(codes.Unavailable, "x")
	endsAtOnce := script{statuses: []healthpb.HealthCheckResponse_ServingStatus{serving}, end: unavailable}
	for name, test := range map[string]struct {
		scripts []script
		want    []string
		result  codes.Code
	}{
		"answers": {
			scripts: []script{{statuses: []healthpb.HealthCheckResponse_ServingStatus{notServing, serving, unknown, serving}, end: unavailable}},
			want:    []string{"0s CONNECTING", "0s TRANSIENT_FAILURE", "0s READY", "0s TRANSIENT_FAILURE", "0s READY", "0s TRANSIENT_FAILURE", "0s CONNECTING"},
		},
		"backoff grows, and starts again after an answer": {
			scripts: []script{{openErr: unavailable}, {end: io.EOF}, {sendErr: io.EOF, end: unavailable}, {statuses: []healthpb.HealthCheckResponse_ServingStatus{serving}, end: io.EOF}, {end: unavailable}},
			want: []string{
				"0s CONNECTING", "0s TRANSIENT_FAILURE", "1s CONNECTING", "1s TRANSIENT_FAILURE", "3s CONNECTING", "3s TRANSIENT_FAILURE",
				"7s CONNECTING", "7s READY", "7s TRANSIENT_FAILURE", "7s CONNECTING", "7s TRANSIENT_FAILURE", "8s CONNECTING",
			},
		},
		"calls that are answered and end at once": {
			scripts: []script{endsAtOnce, endsAtOnce, endsAtOnce, endsAtOnce},
			want: []string{
				"0s CONNECTING", "0s READY", "0s TRANSIENT_FAILURE", "0s CONNECTING", "0s READY", "0s TRANSIENT_FAILURE",
				"1s CONNECTING", "1s READY", "1s TRANSIENT_FAILURE", "1s CONNECTING", "1s READY", "1s TRANSIENT_FAILURE",
				"2s CONNECTING",
			},
		},
		"no such service": {
			scripts: []script{{end: status.Error(codes.Unimplemented, "x")}},
			want:    []string{"0s CONNECTING", "0s READY"},
			result:  codes.Unimplemented,
		},
		"no such service, seen at once": {
			scripts: []script{{openErr: status.Error(codes.Unimplemented, "x")}},
			want:    []string{"0s CONNECTING", "0s READY"},
			result:  codes.Unimplemented,
		},
		"sending fails": {
			scripts: []script{{sendErr: unavailable}},
			want:    []string{"0s CONNECTING", "0s TRANSIENT_FAILURE", "1s CONNECTING"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := run(t, test.scripts...)
				if !slices.Equal(got, test.want) {
					t.Errorf("got  %v\nwant %v", got, test.want)
				}
				if status.Code(err) != test.result {
					t.Errorf("result %v", err)
				}
			})
		})
	}
}

// TestClientCancelled: neither an open watch nor a pause outlives the context.
func TestClientCancelled(t *testing.T) {
	for name, play := range map[string]script{
		"watching": {},
		"pausing":  {end: errors.New("x")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					done <- client{backoff: fixedBackoff{}}.watch(ctx, healthcheck.Params{
						Service: "svc",
						Open: func(ctx context.Context, _ string) (healthcheck.Stream, error) {
							return &scriptedStream{script: play, ctx: ctx}, nil
						},
						Report: func(connectivity.State, error) {},
					})
				}()
				synctest.Wait()
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestRegistered(t *testing.T) {
	if healthcheck.Registered() == nil {
		t.Error("importing the package registers nothing")
	}
}

// TestReportsNothingOnceEnded: what the server has said before the watch ended may still be received.
func TestReportsNothingOnceEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := client{backoff: fixedBackoff{}}.watch(ctx, healthcheck.Params{
		Service: "svc",
		Open: func(context.Context, string) (healthcheck.Stream, error) {
			cancel()
			return &scriptedStream{script: script{statuses: []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_SERVING}}, ctx: ctx}, nil
		},
		Report: func(s connectivity.State, _ error) {
			if s != connectivity.Connecting {
				t.Errorf("reports %v", s)
			}
		},
	})
	if err != nil {
		t.Error(err)
	}
}
