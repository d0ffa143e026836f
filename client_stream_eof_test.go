// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// errLikeEOF has a status, and wraps io.EOF, as the error of a token's source may whose connection was closed.
var errLikeEOF = errors.Join(status.Error(codes.PermissionDenied, "no token"), io.EOF)

// tokenOnce has a token for the first attempt only.
type tokenOnce struct {
	credentials.PerRPCCredentials
	asked bool
}

func (o *tokenOnce) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if o.asked {
		return nil, errLikeEOF
	}
	o.asked = true
	return nil, nil
}

func (*tokenOnce) RequireTransportSecurity() bool { return false }

// endErrors is a stats handler that sends the error of each End.
type endErrors struct {
	quietStats
	told chan error
}

func (e endErrors) HandleRPC(_ context.Context, s stats.RPCStats) {
	if s, ok := s.(*stats.End); ok {
		e.told <- s.Error
	}
}

// TestErrorThatWrapsEOF: an error that wraps io.EOF is not the end of a stream, which only io.EOF itself is.
func TestErrorThatWrapsEOF(t *testing.T) {
	e, _ := flaky(9, status.Error(codes.Unavailable, "not now"))
	ends, finished := endErrors{told: make(chan error, 2)}, make(chan error, 1)
	cc := newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(retryConfig), WithStatsHandler(ends))
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, PerRPCCredentials(&tokenOnce{}), OnFinish(func(err error) { finished <- err }))
	if err != nil {
		t.Fatal(err)
	}
	_ = st.CloseSend()
	wantCode(t, "RecvMsg", st.RecvMsg(new(text)), codes.PermissionDenied)
	wantCode(t, "OnFinish", <-finished, codes.PermissionDenied)
	wantCode(t, "the end of the first attempt", <-ends.told, codes.Unavailable)
	wantCode(t, "the end of the second", <-ends.told, codes.PermissionDenied)
}
