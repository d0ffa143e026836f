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

// Identity holds the authority and the credentials that were set for one RPC, as opposed to its
// channel.
type Identity struct {
	Authority string // "" means the picker's, or else the connection's; Address checks this or the picker's
	// Creds are the program's and Added an rpcconfig.Interceptor's. The channel's are used in
	// addition. nil means none.
	Creds, Added credentials.PerRPCCredentials
	// Hedged says that the RPC may have its answer elsewhere. It waits for credentials no longer than its context lasts.
	Hedged bool
}

// Address sets the request's :authority and adds its credentials. The caller calls it after Pick or
// Use. If the authority is not the connection's, the handshake must have proved that the server may
// act under that name. This holds for a program's authority and for a picker's, such as that of a
// cluster whose control plane rewrites the authority (gRFC A81).
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
	if id.Hedged {
		return a.addCredentialsWithin(ctx, call, id)
	}
	return a.addCredentials(ctx, call, id)
}

// Authority returns the :authority of the request.
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

// addCredentialsWithin does what addCredentials does, and returns once ctx has ended: credentials may ignore their
// context. They have a call of their own, as they may return later.
func (a *Attempt) addCredentialsWithin(ctx context.Context, call *transport.Call, id *Identity) error {
	own, added := *call, make(chan error, 1)
	go func() {
		err := status.Error(codes.Internal, errExited.Error())
		defer func() { added <- err }() // also if they call runtime.Goexit
		err = a.addCredentials(ctx, &own, id)
	}()
	select {
	case err := <-added:
		call.Auth = own.Auth
		return err
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func (a *Attempt) addCredentials(ctx context.Context, call *transport.Call, id *Identity) error {
	info := a.Link.client.AuthInfo()
	ctx = peer.NewContext(ctx, a.Link.client.Peer())
	ctx = credentials.NewContextWithRequestInfo(ctx, credentials.RequestInfo{Method: call.Method, AuthInfo: info})
	uri := audience(a.Authority(call), call.Method)
	// Of a field that several of the channel's credentials have, the last one is sent; the RPC's own are sent beside it.
	for _, c := range a.Link.sub.ch.opts.PerRPC {
		if err := addCredential(ctx, call, c, uri, 0); err != nil {
			return credentialError(err, codes.Unauthenticated)
		}
	}
	if c := a.Link.bundled; c != nil {
		if err := addCredential(ctx, call, *c, uri, 0); err != nil {
			return credentialError(err, codes.Unauthenticated)
		}
	}
	// The channel's credentials were checked against the security level when the connection was
	// made, if the handshake told it.
	for _, c := range [...]credentials.PerRPCCredentials{id.Creds, id.Added} {
		if c == nil {
			continue
		}
		if c.RequireTransportSecurity() && credentials.CheckSecurityLevel(info, credentials.PrivacyAndIntegrity) != nil {
			return status.Error(codes.Unauthenticated, "transport: cannot send secure credentials on an insecure connection")
		}
		if err := addCredential(ctx, call, c, uri, len(call.Auth)); err != nil {
			return credentialError(err, codes.Internal)
		}
	}
	return nil
}

// credentialError turns an error of per-RPC credentials into a status. An error that is not a
// status gets code, which is Unauthenticated for the channel's credentials and Internal for the
// RPC's, as programs have come to expect.
func credentialError(err error, code codes.Code) error {
	if _, ok := status.FromError(err); ok {
		return controlPlaneError("transport: received per-RPC creds error with", err)
	}
	return status.Errorf(code, "transport: per-RPC creds failed due to error: %v", err)
}

func addCredential(ctx context.Context, call *transport.Call, c credentials.PerRPCCredentials, uri string, from int) error {
	md, err := c.GetRequestMetadata(ctx, uri)
	if err == nil {
		call.AddAuth(md, from)
	}
	return err
}

// audience returns the URI of a service, "https://host/package.Service". It drops the port if that
// is 443.
func audience(authority, method string) string {
	service := method
	if i := strings.LastIndexByte(method, '/'); i >= 0 {
		service = method[:i]
	}
	return "https://" + strings.TrimSuffix(authority, ":443") + service
}
