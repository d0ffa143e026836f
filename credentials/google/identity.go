// SPDX-License-Identifier: Apache-2.0

package google

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/tokencache"
	"google.golang.org/grpc/status"
)

const (
	// identityTimeout bounds one request to the metadata server.
	identityTimeout = 30 * time.Second
	// maxIdentity bounds the metadata server's response, in bytes: a token has about a kilobyte.
	maxIdentity = 64 << 10
)

// NewServiceAccountIdentityCredentials returns credentials that send an identity token of
// the machine's default service account (gRFC A83). audience is the URL of the service that
// the token is for, or another name by which that service knows itself. Google Cloud's
// metadata server makes the token, a JSON Web Token, so the credentials work on Google Cloud
// only.
//
// The token is fetched when an RPC first needs it. An RPC that is made less than 90 seconds
// before the token expires starts to fetch a new one; RPCs send the old one meanwhile, until
// 30 seconds before it expires. RPCs that find no usable token wait for one. If the fetch
// fails, so do they: with codes.Unavailable if the metadata server can't be reached or answers
// 429, 502, 503 or 504, or if its token expires within 30 seconds, and with
// codes.Unauthenticated otherwise. No token is then fetched for
// a while, which is a second at first and grows up to two minutes; meanwhile RPCs fail with
// the same error. Tokens are sent only over connections with privacy and integrity.
//
// When ctx has ended no token can be fetched, so it must live as long as the credentials.
// NewServiceAccountIdentityCredentials returns an error for a nil ctx or an empty audience.
func NewServiceAccountIdentityCredentials(ctx context.Context, audience string) (credentials.PerRPCCredentials, error) {
	if ctx == nil {
		return nil, errors.New("credentials: ctx cannot be nil")
	}
	if audience == "" {
		return nil, errors.New("credentials: audience cannot be empty")
	}
	c := &identityCreds{ctx: ctx, audience: audience}
	c.cache = tokencache.New(c.fetch)
	return c, nil
}

type identityCreds struct {
	ctx      context.Context // the context of all requests to the metadata server
	audience string
	cache    *tokencache.Cache
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (c *identityCreds) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	ri, _ := credentials.RequestInfoFromContext(ctx)
	if err := credentials.CheckSecurityLevel(ri.AuthInfo, credentials.PrivacyAndIntegrity); err != nil {
		return nil, fmt.Errorf("credentials: cannot send secure credentials on an insecure connection: %w", err)
	}
	token, err := c.cache.Get(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. It returns true.
func (*identityCreds) RequireTransportSecurity() bool { return true }

// fetch returns a new token. Its errors are statuses with the codes of gRFC A83.
func (c *identityCreds) fetch() (tokencache.Token, error) {
	text, err := c.request()
	if err != nil {
		return tokencache.Token{}, err
	}
	token := strings.TrimSpace(text)
	expiry, err := tokencache.Expiry(token)
	if err != nil {
		return tokencache.Token{}, status.Errorf(codes.Unauthenticated, "credentials: failed to fetch ID token: %v", err)
	}
	if time.Until(expiry) <= tokencache.Skew {
		return tokencache.Token{}, status.Error(codes.Unavailable, "credentials: fetched token is expired")
	}
	return tokencache.Token{Value: token, Expiry: expiry}, nil
}

func (c *identityCreds) request() (string, error) {
	ctx, cancel := context.WithTimeout(c.ctx, identityTimeout)
	defer cancel()
	u := url.URL{
		Scheme:   "http",
		Host:     envconfig.GCEMetadataHost(),
		Path:     "/computeMetadata/v1/instance/service-accounts/default/identity",
		RawQuery: url.Values{"audience": {c.audience}, "format": {"full"}}.Encode(),
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", status.Errorf(codes.Unauthenticated, "credentials: failed to fetch ID token: %v", err)
	}
	req.Header.Set("Metadata-Flavor", "Google")
	resp, err := metadataClient.Do(req)
	if err != nil {
		return "", status.Errorf(codes.Unavailable, "credentials: failed to fetch ID token: %v", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxIdentity))
	if err != nil {
		return "", status.Errorf(codes.Unavailable, "credentials: failed to fetch ID token: %v", err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", status.Errorf(codeOf(resp.StatusCode), "credentials: failed to fetch ID token: HTTP status %d: %s", resp.StatusCode,
			tokencache.Reason(resp.StatusCode, body))
	}
	return string(body), nil
}

// metadataClient sends requests to the metadata server. It uses no proxy, because that server is
// on the machine's own link. It keeps no connection open, because a token is fetched about once
// an hour.
var metadataClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// codeOf returns Unavailable for the HTTP statuses that gRPC maps to it
// (http-grpc-status-mapping.md), and Unauthenticated for all others.
func codeOf(httpStatus int) codes.Code {
	switch httpStatus {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return codes.Unavailable
	}
	return codes.Unauthenticated
}
