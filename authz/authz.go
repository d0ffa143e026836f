// SPDX-License-Identifier: Apache-2.0

// Package authz has server interceptors that enforce an authorization policy (gRFC A43). A
// policy is a list of rules in JSON about an RPC's method, its headers and the client's
// identity. The policy can also have the decisions audited (gRFC A59).
//
//	i, err := authz.NewStatic(policy)
//	...
//	s := grpc.NewServer(grpc.Creds(creds),
//		grpc.ChainUnaryInterceptor(i.UnaryInterceptor),
//		grpc.ChainStreamInterceptor(i.StreamInterceptor))
//
// The interceptor refuses an RPC with code PERMISSION_DENIED if one of "deny_rules" matches
// it, or if none of "allow_rules" does. A rule that names no principals matches any client.
// A rule that names principals matches only clients of TLS connections. It compares the
// principals with the URIs in the client's certificate, with its DNS names if it has no
// URIs, and with its subject if it has neither. For this the server has to request client
// certificates and verify them.
//
// Experimental: this API may change in a later release.
package authz

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/rbac"
	"google.golang.org/grpc/status"
)

var logger = grpclog.Component("authz")

// StaticInterceptor enforces one policy that never changes. It is safe for concurrent use.
type StaticInterceptor struct {
	engines rbac.Chain
}

// NewStatic returns an interceptor that enforces a policy given in JSON. The error says
// what is wrong with the policy.
func NewStatic(authzPolicy string) (*StaticInterceptor, error) {
	engines, err := parsePolicy(authzPolicy)
	if err != nil {
		return nil, err
	}
	return &StaticInterceptor{engines: engines}, nil
}

// UnaryInterceptor is the interceptor to pass to grpc.UnaryInterceptor or
// grpc.ChainUnaryInterceptor.
func (i *StaticInterceptor) UnaryInterceptor(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := authorize(ctx, i.engines); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// StreamInterceptor is the interceptor to pass to grpc.StreamInterceptor or
// grpc.ChainStreamInterceptor.
func (i *StaticInterceptor) StreamInterceptor(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := authorize(ss.Context(), i.engines); err != nil {
		return err
	}
	return handler(srv, ss)
}

// authorize returns nil if the RPC may go on, and otherwise the status that it ends with.
func authorize(ctx context.Context, engines rbac.Chain) error {
	method, _ := grpc.Method(ctx)
	r, err := rbac.NewRequest(ctx, method)
	if err != nil {
		logger.Errorf("the context is not that of an RPC on a server: %v", err)
		return status.Errorf(codes.Internal, "gRPC RBAC: %v", err)
	}
	if !engines.Authorize(r) {
		if logger.V(2) {
			logger.Infof("%.300q: refused", method)
		}
		return status.Error(codes.PermissionDenied, "authz: unauthorized RPC request rejected")
	}
	return nil
}
