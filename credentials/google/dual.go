// SPDX-License-Identifier: Apache-2.0

package google

import (
	"context"
	"errors"

	"google.golang.org/grpc/credentials"
)

// dualCreds authenticate RPCs on ALTS connections by alts, and RPCs on other connections by
// others.
type dualCreds struct {
	others credentials.PerRPCCredentials // may be nil
	alts   credentials.PerRPCCredentials
}

func (d dualCreds) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	ri, ok := credentials.RequestInfoFromContext(ctx)
	switch {
	case !ok:
		return nil, errors.New("request info not found from context")
	case ri.AuthInfo != nil && ri.AuthInfo.AuthType() == "alts":
		return d.alts.GetRequestMetadata(ctx, uri...)
	case d.others == nil:
		return nil, nil
	}
	return d.others.GetRequestMetadata(ctx, uri...)
}

// RequireTransportSecurity returns true if either credentials require it: which of them an RPC
// uses is not known before it has a connection.
func (d dualCreds) RequireTransportSecurity() bool {
	return d.alts.RequireTransportSecurity() || d.others != nil && d.others.RequireTransportSecurity()
}
