// SPDX-License-Identifier: Apache-2.0

// Package jwt has per-RPC credentials that send a JSON Web Token (RFC 7519) out of a file, as
// gRFC A97 describes: whoever runs the program, such as a service mesh, puts the token there
// and renews it.
//
// Experimental: this API may change in a later release.
package jwt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/tokencache"
	"google.golang.org/grpc/status"
)

// NewTokenFileCallCredentials returns credentials that send the token in a file, which may
// have white space around it, as "authorization: Bearer <token>". The token needs an "exp"
// claim; nobody here verifies it.
//
// The file is read when an RPC needs the token, and again from 90 seconds before the token
// expires on; RPCs go on with the old token meanwhile, until 30 seconds before its end. RPCs
// that find no usable token wait until the file is read. They fail with codes.Unavailable if
// it can't be read and with codes.Unauthenticated if it has no valid token; after a failure
// the file is left alone for a while, a second at first and up to two minutes, and RPCs fail
// as the last one did.
//
// The token is sent only over connections with privacy and integrity, such as TLS.
//
// The error is about an empty path. The file need not exist yet.
func NewTokenFileCallCredentials(tokenFilePath string) (credentials.PerRPCCredentials, error) {
	if tokenFilePath == "" {
		return nil, errors.New("tokenFilePath cannot be empty")
	}
	return &fileCreds{cache: tokencache.New(func() (tokencache.Token, error) { return read(tokenFilePath) })}, nil
}

type fileCreds struct{ cache *tokencache.Cache }

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (c *fileCreds) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	ri, _ := credentials.RequestInfoFromContext(ctx)
	if err := credentials.CheckSecurityLevel(ri.AuthInfo, credentials.PrivacyAndIntegrity); err != nil {
		return nil, fmt.Errorf("cannot send secure credentials on an insecure connection: %w", err)
	}
	token, err := c.cache.Get(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: it is true.
func (*fileCreds) RequireTransportSecurity() bool { return true }

// read returns the token of a file. Its errors are statuses with the codes of gRFC A97.
func read(path string) (tokencache.Token, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return tokencache.Token{}, status.Errorf(codes.Unavailable, "%v: token file access error", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return tokencache.Token{}, status.Errorf(codes.Unauthenticated, "token file %q is empty: invalid JWT", path)
	}
	expiry, err := tokencache.Expiry(token)
	if err != nil {
		return tokencache.Token{}, status.Errorf(codes.Unauthenticated, "token file %q: %v", path, err)
	}
	if !time.Now().Before(expiry) {
		return tokencache.Token{}, status.Errorf(codes.Unauthenticated, "token file %q: expired token: invalid JWT", path)
	}
	return tokencache.Token{Value: token, Expiry: expiry}, nil
}
