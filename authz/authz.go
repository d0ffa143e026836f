// SPDX-License-Identifier: Apache-2.0

// Package authz has server interceptors that let RPCs in by a policy: rules in JSON, for
// the method, the headers and the client's identity (gRFC A43), with an audit of what was
// decided (gRFC A59).
//
//	i, err := authz.NewStatic(policy)
//	...
//	s := grpc.NewServer(grpc.Creds(creds),
//		grpc.ChainUnaryInterceptor(i.UnaryInterceptor),
//		grpc.ChainStreamInterceptor(i.StreamInterceptor))
//
// An RPC is refused, with code PERMISSION_DENIED, if one of "deny_rules" matches it or none
// of "allow_rules" does. A rule that names no principals matches any client; one that names
// some matches clients of TLS connections only: by the URIs in their certificates, without
// any by the DNS names, and without those by the subject. Where clients are to be known by
// their certificates, the server has to ask for these and verify them.
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

// StaticInterceptor has one policy for all its life. It is safe for concurrent use.
type StaticInterceptor struct {
	engines rbac.Chain
}

// NewStatic returns an interceptor for a policy in JSON. The error says what is wrong with
// it.
func NewStatic(authzPolicy string) (*StaticInterceptor, error) {
	engines, err := parsePolicy(authzPolicy)
	if err != nil {
		return nil, err
	}
	return &StaticInterceptor{engines: engines}, nil
}

// UnaryInterceptor is for grpc.UnaryInterceptor and grpc.ChainUnaryInterceptor.
func (i *StaticInterceptor) UnaryInterceptor(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := authorize(ctx, i.engines); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// StreamInterceptor is for grpc.StreamInterceptor and grpc.ChainStreamInterceptor.
func (i *StaticInterceptor) StreamInterceptor(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := authorize(ss.Context(), i.engines); err != nil {
		return err
	}
	return handler(srv, ss)
}

// authorize returns the status of an RPC that may not go on.
func authorize(ctx context.Context, engines rbac.Chain) error {
	method, _ := grpc.Method(ctx)
	r, err := rbac.NewRequest(ctx, method)
	if err != nil {
		logger.Errorf("the context is not that of an RPC on a server: %v", err)
		return status.Errorf(codes.Internal, "gRPC RBAC: %v", err)
	}
	if !engines.Authorize(r) {
		if logger.V(2) {
			logger.Infof("%s: refused", method)
		}
		return status.Error(codes.PermissionDenied, "authz: unauthorized RPC request rejected")
	}
	return nil
}
