// SPDX-License-Identifier: Apache-2.0

// Package jwt has per-RPC credentials that send a JSON Web Token (RFC 7519) from a file, as
// gRFC A97 describes. The program's environment, such as a service mesh, writes the token to
// the file and renews it.
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

// NewTokenFileCallCredentials returns credentials that send the token in a file as
// "authorization: Bearer <token>". There may be white space around the token in the file. The
// token must have an "exp" claim. The credentials do not verify its signature.
//
// The file is read when an RPC first needs the token. An RPC that is made less than 90 seconds
// before the token expires starts to read the file again; RPCs send the old token meanwhile,
// until 30 seconds before it expires. RPCs that find no usable token wait until the file has
// been read. They fail with codes.Unavailable if the file can't be read, and with
// codes.Unauthenticated if it has no valid token. After a failure the file is not read for a
// while, which is a second at first and grows up to two minutes; meanwhile RPCs fail with the
// same error.
//
// The token is sent only over connections with privacy and integrity, such as TLS.
//
// NewTokenFileCallCredentials returns an error for an empty path. The file need not exist yet.
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

// RequireTransportSecurity implements credentials.PerRPCCredentials. It returns true.
func (*fileCreds) RequireTransportSecurity() bool { return true }

// read returns the token in a file. Its errors are statuses with the codes of gRFC A97.
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
