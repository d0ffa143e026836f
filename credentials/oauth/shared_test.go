// SPDX-License-Identifier: Apache-2.0

package oauth_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc/credentials/oauth"
)

// TestUnreturned: a request for a token that does not return ends, and the next RPC makes another one.
func TestUnreturned(t *testing.T) {
	for name, leave := range map[string]func(){"Goexit": runtime.Goexit, "panic": func() { panic("of the program") }} {
		t.Run(name, func(t *testing.T) {
			c, err := oauth.NewServiceAccountFromKey(newKey(t, "http://issuer.example/"), "scope")
			if err != nil {
				t.Fatal(err)
			}
			var once sync.Once
			ctx := context.WithValue(safe(t), oauth2.HTTPClient, &http.Client{Transport: trip(func() string {
				once.Do(leave)
				return `{"access_token": "t", "token_type": "Bearer", "expires_in": 3600}`
			})})
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			var first error
			func() {
				defer func() {
					if p := recover(); (name == "panic") != (p == "of the program") {
						t.Errorf("%v", p)
					}
				}()
				_, first = c.GetRequestMetadata(ctx)
			}()
			if name == "Goexit" && (first == nil || ctx.Err() != nil) {
				t.Errorf("%v", first)
			}
			if got, err := c.GetRequestMetadata(ctx); err != nil || got["authorization"] != "Bearer t" {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// trip answers requests with its result.
type trip func() string

func (t trip) RoundTrip(*http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(t()))}, nil
}
