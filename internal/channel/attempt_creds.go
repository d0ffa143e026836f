// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Identity is what an RPC says of itself and of its server, where that was set for this RPC.
type Identity struct {
	Authority string // "": the picker's, or the connection's; the picker's and this are checked
	// Beside the channel's: the program's and an rpcconfig.Interceptor's; nil: none.
	Creds, Added credentials.PerRPCCredentials
}

// Address settles the request's :authority, and adds its credentials. It follows Pick or Use. The
// server has to prove that it may act under a name that is not the connection's, whoever brings
// it: a program, or a picker, as that of a cluster whose control plane rewrites it (A81).
func (a *Attempt) Address(ctx context.Context, call *transport.Call, id *Identity) error {
	if name := id.Authority; name != "" {
		call.Authority = name
	}
	if name := call.Authority; name != "" {
		if err := mayStandFor(a.Link.client.AuthInfo(), name); err != nil {
			return err
		}
	}
	if len(a.Link.sub.ch.opts.PerRPC) == 0 && id.Creds == nil && id.Added == nil && a.Link.bundled == nil {
		return nil
	}
	return a.addCredentials(ctx, call, id)
}

// Authority is the :authority of the request.
func (a *Attempt) Authority(call *transport.Call) string {
	if call.Authority != "" {
		return call.Authority
	}
	return a.Link.client.Authority()
}

func mayStandFor(info credentials.AuthInfo, authority string) error {
	v, ok := info.(credentials.AuthorityValidator)
	if !ok {
		return status.Errorf(codes.Unavailable, "grpc: the RPC's authority: what the handshake learned (%T) can't tell whether the server may act as %q", info, authority)
	}
	if err := v.ValidateAuthority(authority); err != nil {
		return status.Errorf(codes.Unavailable, "failed to validate authority %q : %v", authority, err)
	}
	return nil
}

func (a *Attempt) addCredentials(ctx context.Context, call *transport.Call, id *Identity) error {
	info := a.Link.client.AuthInfo()
	ctx = peer.NewContext(ctx, a.Link.client.Peer())
	ctx = credentials.NewContextWithRequestInfo(ctx, credentials.RequestInfo{Method: call.Method, AuthInfo: info})
	uri := audience(a.Authority(call), call.Method)
	for _, c := range a.Link.sub.ch.opts.PerRPC {
		if err := addCredential(ctx, call, c, uri); err != nil {
			return credentialError(err, codes.Unauthenticated)
		}
	}
	if c := a.Link.bundled; c != nil {
		if err := addCredential(ctx, call, *c, uri); err != nil {
			return credentialError(err, codes.Unauthenticated)
		}
	}
	// Those of the channel were looked at when the connection was made.
	for _, c := range [...]credentials.PerRPCCredentials{id.Creds, id.Added} {
		if c == nil {
			continue
		}
		if c.RequireTransportSecurity() && credentials.CheckSecurityLevel(info, credentials.PrivacyAndIntegrity) != nil {
			return status.Error(codes.Unauthenticated, "transport: cannot send secure credentials on an insecure connection")
		}
		if err := addCredential(ctx, call, c, uri); err != nil {
			return credentialError(err, codes.Internal)
		}
	}
	return nil
}

// credentialError gives an error of credentials that is not a status the code: that is
// Unauthenticated for a channel's and Internal for a call's, as programs have come to expect.
func credentialError(err error, code codes.Code) error {
	if _, ok := status.FromError(err); ok {
		return ControlPlaneError("transport: received per-RPC creds error with", err)
	}
	return status.Errorf(code, "transport: per-RPC creds failed due to error: %v", err)
}

func addCredential(ctx context.Context, call *transport.Call, c credentials.PerRPCCredentials, uri string) error {
	md, err := c.GetRequestMetadata(ctx, uri)
	if err == nil {
		call.AddAuth(md)
	}
	return err
}

// audience is the URI of a service: "https://host/package.Service", without the port if
// that is the usual one.
func audience(authority, method string) string {
	service := method
	if i := strings.LastIndexByte(method, '/'); i >= 0 {
		service = method[:i]
	}
	return "https://" + strings.TrimSuffix(authority, ":443") + service
}
