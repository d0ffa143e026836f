// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rbac"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/status"
)

// Server implements ServerKind.
func (RBAC) Server(i Instance) rpcconfig.Filter {
	c, ok := i.Effective().(*RBACConfig)
	if !ok || c.Policy == nil {
		return nil
	}
	engine := c.Policy.Engine(i.Name)
	if engine == nil {
		return nil
	}
	return func(ctx context.Context, method string) (context.Context, error) {
		r, err := rbac.NewRequest(ctx, method)
		if err != nil {
			return nil, status.Errorf(codes.Internal, "rbac: %v", err)
		}
		switch rule, allowed := engine.Decide(r); {
		case allowed:
			return ctx, nil
		case rule == nil:
			return nil, status.Error(codes.PermissionDenied, "incoming RPC did not match an allow policy")
		default:
			return nil, status.Errorf(codes.PermissionDenied, "incoming RPC matched a deny policy %q", rule.Name)
		}
	}
}
