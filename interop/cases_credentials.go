// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
)

// token is a credential that adds one entry to the metadata. The server echoes the entry's key,
// so the response shows whether the entry has arrived.
type token struct {
	key, value string
	secure     bool // whether it requires transport security
}

func (t token) RequireTransportSecurity() bool { return t.secure }

func (t token) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	const service = "/grpc.testing.TestService"
	if len(uri) != 1 || !strings.HasPrefix(uri[0], "https://") || !strings.HasSuffix(uri[0], service) {
		return nil, fmt.Errorf("asked for %q, want https://...%s", uri, service)
	}
	if info, ok := credentials.RequestInfoFromContext(ctx); !ok || !strings.HasPrefix(info.Method, service+"/") {
		return nil, fmt.Errorf("asked for method %q", info.Method)
	}
	return map[string]string{t.key: t.value}, nil
}

// The server echoes the channel's token in the headers, and the call's in the trailers.
func channelToken(secure bool) token { return token{echoInitialKey, echoInitialValue, secure} }
func callToken(secure bool) token    { return token{echoTrailingKey, echoTrailingValue, secure} }

// perRPCCredentials requires that tokens travel with RPCs, and that those that require security
// travel over secure connections only.
func perRPCCredentials(ctx context.Context, c *Client) error {
	secure := c.cfg.Creds != nil
	if !secure {
		if err := tokensRefused(ctx, c); err != nil {
			return err
		}
	}
	client, err := c.with(grpc.WithPerRPCCredentials(channelToken(secure)),
		grpc.WithDefaultCallOptions(grpc.PerRPCCredentials(callToken(secure))))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := tokensEchoed(ctx, client); err != nil {
		return fmt.Errorf("unary: %w", err)
	}
	header, trailer, err := customMetadataStream(ctx, client)
	if err == nil {
		err = checkEcho(header, trailer)
	}
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	return nil
}

func tokensEchoed(ctx context.Context, c *Client) error {
	var header, trailer metadata.MD
	_, err := c.test.UnaryCall(ctx, &testpb.SimpleRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		return err
	}
	return checkEcho(header, trailer)
}

// tokensRefused requires that neither a channel nor a call sends a token that requires
// security over a connection without security.
func tokensRefused(ctx context.Context, c *Client) error {
	if client, err := c.with(grpc.WithPerRPCCredentials(channelToken(true))); err == nil {
		client.Close()
		return errors.New("a channel without security took credentials that need it")
	}
	_, err := c.test.EmptyCall(ctx, &testpb.Empty{}, grpc.PerRPCCredentials(callToken(true)))
	if err := checkCode(err, codes.Unauthenticated); err != nil {
		return fmt.Errorf("unary without security: %w", err)
	}
	stream, err := c.test.FullDuplexCall(ctx, grpc.PerRPCCredentials(callToken(true)))
	if err == nil {
		_, err = stream.Recv()
	}
	if err := checkCode(err, codes.Unauthenticated); err != nil {
		return fmt.Errorf("stream without security: %w", err)
	}
	return nil
}
