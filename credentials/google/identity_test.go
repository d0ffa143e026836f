// SPDX-License-Identifier: Apache-2.0

package google

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// metadataServer is Google Cloud's, for one test.
type metadataServer struct {
	mu       sync.Mutex
	requests int
	status   int
	body     string
	hang     bool
	audience string
}

func newMetadataServer(t *testing.T) *metadataServer {
	m := &metadataServer{status: http.StatusOK}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(s.URL, "http://"))
	return m
}

func (m *metadataServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	m.audience = r.FormValue("audience")
	if m.hang {
		<-r.Context().Done()
		return
	}
	if r.Header.Get("Metadata-Flavor") != "Google" || r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/identity" {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	w.WriteHeader(m.status)
	fmt.Fprint(w, m.body)
}

func identityToken(good time.Duration) string {
	claims := fmt.Sprintf(`{"exp": %d}`, time.Now().Add(good).Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func newIdentity(t *testing.T, ctx context.Context) credentials.PerRPCCredentials { //nolint:revive // t comes first in tests
	t.Helper()
	c, err := NewServiceAccountIdentityCredentials(ctx, "https://service/?a&b")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// identityInfo is an AuthInfo with a level.
type identityInfo struct{ credentials.CommonAuthInfo }

func (identityInfo) AuthType() string { return "test" }

func identityContext(t *testing.T, level credentials.SecurityLevel) context.Context {
	return credentials.NewContextWithRequestInfo(t.Context(), credentials.RequestInfo{
		AuthInfo: identityInfo{credentials.CommonAuthInfo{SecurityLevel: level}},
	})
}

func TestIdentity(t *testing.T) {
	m := newMetadataServer(t)
	token := identityToken(time.Hour)
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   codes.Code
	}{
		{"token", http.StatusOK, token, codes.OK},
		{"token and line end", http.StatusOK, token + "\n", codes.OK},
		{"no token", http.StatusOK, "text", codes.Unauthenticated},
		{"expired", http.StatusOK, identityToken(20 * time.Second), codes.Unavailable},
		{"not found", http.StatusNotFound, "no account", codes.Unauthenticated},
		{"forbidden", http.StatusForbidden, "", codes.Unauthenticated},
		{"broken", http.StatusInternalServerError, "", codes.Unauthenticated},
		{"too many", http.StatusTooManyRequests, "", codes.Unavailable},
		{"bad gateway", http.StatusBadGateway, "", codes.Unavailable},
		{"unavailable", http.StatusServiceUnavailable, "", codes.Unavailable},
	} {
		m.mu.Lock()
		m.status, m.body, m.requests = tt.status, tt.body, 0
		m.mu.Unlock()
		c := newIdentity(t, t.Context())
		for range 3 {
			md, err := c.GetRequestMetadata(identityContext(t, credentials.PrivacyAndIntegrity), "https://x/y")
			if status.Code(err) != tt.want || tt.want == codes.OK && md["authorization"] != "Bearer "+token {
				t.Errorf("%s: %v, %v", tt.name, md, err)
			}
		}
		if m.requests != 1 || m.audience != "https://service/?a&b" {
			t.Errorf("%s: %d requests for %q", tt.name, m.requests, m.audience)
		}
	}
}

func TestIdentityLevels(t *testing.T) {
	m := newMetadataServer(t)
	c := newIdentity(t, t.Context())
	for _, ctx := range []context.Context{t.Context(), identityContext(t, credentials.NoSecurity)} {
		if md, err := c.GetRequestMetadata(ctx); err == nil {
			t.Errorf("sent %v", md)
		}
	}
	if m.requests != 0 || !c.RequireTransportSecurity() {
		t.Errorf("%d requests", m.requests)
	}
}

// TestIdentityHangs: an RPC waits for the metadata server no longer than it may, and the end of
// the credentials' context ends the request.
func TestIdentityHangs(t *testing.T) {
	m := newMetadataServer(t)
	m.hang = true
	life, end := context.WithCancel(t.Context())
	c := newIdentity(t, life)
	ctx, cancel := context.WithTimeout(identityContext(t, credentials.PrivacyAndIntegrity), 20*time.Millisecond)
	defer cancel()
	if md, err := c.GetRequestMetadata(ctx); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v, %v", md, err)
	}
	end()
	if md, err := c.GetRequestMetadata(identityContext(t, credentials.PrivacyAndIntegrity)); status.Code(err) != codes.Unavailable {
		t.Errorf("%v, %v", md, err)
	}
}

func TestIdentityServerGone(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(s.URL, "http://"))
	s.Close()
	c := newIdentity(t, t.Context())
	if md, err := c.GetRequestMetadata(identityContext(t, credentials.PrivacyAndIntegrity)); status.Code(err) != codes.Unavailable {
		t.Errorf("%v, %v", md, err)
	}
}

func TestIdentityArguments(t *testing.T) {
	if _, err := NewServiceAccountIdentityCredentials(t.Context(), ""); err == nil {
		t.Error("no error without an audience")
	}
	var none context.Context
	if _, err := NewServiceAccountIdentityCredentials(none, "a"); err == nil {
		t.Error("no error without a context")
	}
}
