// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/internal/healthcheck"
	"google.golang.org/grpc/status"
)

func init() {
	healthcheck.Register(client{backoff: backoff.Default}.watch)
}

// client checks the health of a server for a channel.
type client struct {
	backoff backoff.Strategy
}

// fastest is how often an attempt may follow an answered one at once.
const fastest = time.Second

// watch is a healthcheck.Func. The quotations in it are from gRFC A17.
func (c client) watch(ctx context.Context, p healthcheck.Params) error {
	var again time.Time // when an attempt last followed an answered one at once
	for retries := 0; ; retries++ {
		// "The subchannel will stay in state CONNECTING until it receives the first
		// health-check response", and goes there again "when the next attempt starts".
		p.Report(connectivity.Connecting, nil)
		answered, err := attempt(ctx, p)
		switch {
		case ctx.Err() != nil:
			return nil
		case status.Code(err) == codes.Unimplemented:
			p.Report(connectivity.Ready, nil)
			logger.Errorf("Subchannel health check is unimplemented at server side, thus health check is disabled for SubConn (service %q)", p.Service)
			return err
		}
		// Only the text is reported: the code is the Watch call's, and must not become that
		// of RPCs that fail because of it.
		p.Report(connectivity.TransientFailure, fmt.Errorf("connection active but received health check RPC error: %s", err.Error()))
		// A server that answers and ends each call at once would reset it each time, and be called
		// without any pause.
		if answered && time.Since(again) >= fastest {
			// "When the client receives a message from the server on a given call, the
			// backoff state is reset, so the next attempt will occur immediately, but
			// any subsequent attempt will be subject to exponential backoff."
			retries, again = -1, time.Now()
			continue
		}
		if !backoff.Wait(ctx, c.backoff.Backoff(retries)) {
			return nil
		}
	}
}

// attempt makes one call of Watch. It reports the server's responses, and returns when the
// call has ended. The error is never nil. answered says whether there was a response.
func attempt(ctx context.Context, p healthcheck.Params) (answered bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.Open(ctx, healthpb.Health_Watch_FullMethodName)
	if err != nil {
		return false, err
	}
	// After io.EOF from SendMsg, RecvMsg returns the status.
	if err := stream.SendMsg(&healthpb.HealthCheckRequest{Service: p.Service}); err != nil && err != io.EOF {
		return false, err
	}
	if err := stream.CloseSend(); err != nil {
		return false, err
	}
	for {
		var resp healthpb.HealthCheckResponse
		if err := stream.RecvMsg(&resp); err != nil {
			return answered, err
		}
		if ctx.Err() != nil { // what has come before does not count any more
			return answered, ctx.Err()
		}
		answered = true
		if resp.Status == healthpb.HealthCheckResponse_SERVING {
			p.Report(connectivity.Ready, nil)
		} else {
			p.Report(connectivity.TransientFailure, fmt.Errorf("connection active but health check failed. status=%v", resp.Status))
		}
	}
}
