// SPDX-License-Identifier: Apache-2.0

package sts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc/internal/tokencache"
)

const (
	// grantType is the grant type of a token exchange (RFC 8693, section 2.1).
	grantType = "urn:ietf:params:oauth:grant-type:token-exchange"
	// defaultScope is the scope if Options have none.
	defaultScope = "https://www.googleapis.com/auth/cloud-platform"
	// exchangeTimeout bounds an exchange for an RPC that has no deadline.
	exchangeTimeout = time.Minute
	// maxAnswer bounds the service's response, in bytes.
	maxAnswer = 1 << 20
)

// response has those fields of a response that the credentials use (RFC 8693, section 2.2.1).
type response struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int64  `json:"expires_in"` // seconds
}

var client = &http.Client{Timeout: exchangeTimeout}

// newRequest returns the parameters of a request (RFC 8693, section 2.1), without optional
// parameters that are empty. The caller sends them as JSON: the services that these
// credentials are for accept it in place of RFC 8693's form encoding.
func newRequest(o Options) (map[string]string, error) {
	subject, err := os.ReadFile(o.SubjectTokenPath)
	if err != nil {
		return nil, err
	}
	params := map[string]string{
		"grant_type":         grantType,
		"scope":              cmp.Or(o.Scope, defaultScope),
		"subject_token":      string(subject),
		"subject_token_type": o.SubjectTokenType,
	}
	optional := map[string]string{"resource": o.Resource, "audience": o.Audience, "requested_token_type": o.RequestedTokenType}
	if o.ActorTokenPath != "" {
		actor, err := os.ReadFile(o.ActorTokenPath)
		if err != nil {
			return nil, err
		}
		optional["actor_token"], optional["actor_token_type"] = string(actor), o.ActorTokenType
	}
	for name, value := range optional {
		if value != "" {
			params[name] = value
		}
	}
	return params, nil
}

// exchange sends one request to the service, and returns its response.
func exchange(ctx context.Context, o Options) (*response, error) {
	r, err := newRequest(o)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.TokenExchangeServiceURI, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("http status %d, body: %s", resp.StatusCode, tokencache.Reason(resp.StatusCode, answer))
	}
	return parse(answer)
}

// parse parses a response. Its errors contain no part of a response, which may have a token.
func parse(answer []byte) (*response, error) {
	var out response
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, fmt.Errorf("answer of the token exchange service: %w", err)
	}
	if out.AccessToken == "" {
		return nil, errors.New("empty accessToken in response")
	}
	return &out, nil
}
