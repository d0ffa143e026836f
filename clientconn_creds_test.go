// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestCredentialErrors: credentials choose the RPC's status, but for codes that applications alone
// may use (gRFC A54). An error that is no status gives a code that tells whose credentials they are.
func TestCredentialErrors(t *testing.T) {
	ctx, addr := testContext(t), serve(t, newEcho()).addr
	for _, tt := range []struct {
		err           error
		channel, call codes.Code
	}{
		{errors.New("no token"), codes.Unauthenticated, codes.Internal},
		{status.Error(codes.Unavailable, "no token"), codes.Unavailable, codes.Unavailable},
		{status.Error(codes.NotFound, "no token"), codes.Internal, codes.Internal},
	} {
		creds := failingToken{tt.err}
		cc := newTestClient(t, addr, WithPerRPCCredentials(creds))
		wantCode(t, "of the channel", call(ctx, cc, "x"), tt.channel, "no token")
		cc = newTestClient(t, addr)
		wantCode(t, "of a call", call(ctx, cc, "x", PerRPCCredentials(creds)), tt.call, "no token")
	}
}
