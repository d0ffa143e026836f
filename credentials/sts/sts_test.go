// SPDX-License-Identifier: Apache-2.0

package sts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

type info struct{ credentials.CommonAuthInfo }

func (info) AuthType() string { return "test" }

func over(t *testing.T, level credentials.SecurityLevel) context.Context {
	return credentials.NewContextWithRequestInfo(t.Context(), credentials.RequestInfo{
		AuthInfo: info{credentials.CommonAuthInfo{SecurityLevel: level}},
	})
}

// service is a token exchange service.
type service struct {
	url string

	mu       sync.Mutex
	requests []map[string]string
	status   int
	answer   string
	hang     bool
}

func newService(t *testing.T) *service {
	s := &service{status: http.StatusOK, answer: answer("new", 3600)}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func answer(token string, seconds int64) string {
	return fmt.Sprintf(`{"access_token": %q, "issued_token_type": "urn:x", "token_type": "Bearer", "expires_in": %d}`, token, seconds)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var req map[string]string
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	s.requests = append(s.requests, req)
	if s.hang {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(s.status)
	fmt.Fprint(w, s.answer)
}

func (s *service) set(status int, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.answer, s.requests = status, answer, nil
}

// options returns the least ones, with a subject token.
func (s *service) options(t *testing.T) Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "subject")
	if err := os.WriteFile(path, []byte("subject"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{TokenExchangeServiceURI: s.url, SubjectTokenPath: path, SubjectTokenType: "urn:subject"}
}

func newCreds(t *testing.T, o Options) credentials.PerRPCCredentials {
	t.Helper()
	c, err := NewCredentials(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestExchange(t *testing.T) {
	s := newService(t)
	least := s.options(t)
	all := least
	all.ActorTokenPath = filepath.Join(t.TempDir(), "actor")
	if err := os.WriteFile(all.ActorTokenPath, []byte("actor"), 0o600); err != nil {
		t.Fatal(err)
	}
	all.ActorTokenType, all.Resource, all.Audience, all.Scope, all.RequestedTokenType = "urn:actor", "r", "a", "s1 s2", "urn:t"
	for _, tt := range []struct {
		opts Options
		want map[string]string
	}{
		{least, map[string]string{
			"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "scope": "https://www.googleapis.com/auth/cloud-platform",
			"subject_token": "subject", "subject_token_type": "urn:subject",
		}},
		{all, map[string]string{
			"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "scope": "s1 s2",
			"resource": "r", "audience": "a", "requested_token_type": "urn:t",
			"subject_token": "subject", "subject_token_type": "urn:subject", "actor_token": "actor", "actor_token_type": "urn:actor",
		}},
	} {
		s.set(http.StatusOK, answer("new", 3600))
		c := newCreds(t, tt.opts)
		for range 3 {
			md, err := c.GetRequestMetadata(over(t, credentials.PrivacyAndIntegrity), "https://x/y")
			if diff := cmp.Diff(map[string]string{"Authorization": "Bearer new"}, md); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		}
		if diff := cmp.Diff([]map[string]string{tt.want}, s.requests); diff != "" {
			t.Error(diff)
		}
	}
}

// TestLifetime: what is good for five minutes or less is exchanged anew. What is good for longer than a time.Duration is kept.
func TestLifetime(t *testing.T) {
	s := newService(t)
	for seconds, want := range map[int64]int{math.MinInt64: 2, -1: 2, 0: 2, 299: 2, 310: 1, 1e10: 1, math.MaxInt64: 1} {
		s.set(http.StatusOK, answer("new", seconds))
		c := newCreds(t, s.options(t))
		for range 2 {
			if _, err := c.GetRequestMetadata(over(t, credentials.PrivacyAndIntegrity)); err != nil {
				t.Error(err)
			}
			c.(*callCreds).came = time.Now().Add(-minKept)
		}
		if len(s.requests) != want {
			t.Errorf("%d seconds: %d exchanges", seconds, len(s.requests))
		}
	}
}

func TestFaults(t *testing.T) {
	s := newService(t)
	c := newCreds(t, s.options(t))
	for _, tt := range []struct {
		status       int
		answer, want string
	}{
		{http.StatusForbidden, "no", "http status 403, body: no"},
		{http.StatusInternalServerError, `{"access_token": "secret"}`, "http status 500"},
		{http.StatusCreated, "secret", "http status 201"},
		{http.StatusBadRequest, `{"error": "invalid_request", "more": "secret"}`, "http status 400, body: invalid_request"},
		{http.StatusOK, "", "unexpected end"},
		{http.StatusOK, "{}", "empty accessToken"},
		{http.StatusOK, `{"accessToken": "secret"}`, "empty accessToken"}, // by another name
		{http.StatusOK, `{"access_token": "secret", "expires_in": "x"}`, "expires_in"},
	} {
		s.set(tt.status, tt.answer)
		md, err := c.GetRequestMetadata(over(t, credentials.PrivacyAndIntegrity))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d %q: %v, %v", tt.status, tt.answer, md, err)
		}
	}
	s.set(http.StatusOK, answer("new", 3600)) // and the next RPC succeeds
	if _, err := c.GetRequestMetadata(over(t, credentials.PrivacyAndIntegrity)); err != nil {
		t.Error(err)
	}

	o := s.options(t)
	o.SubjectTokenPath += "-gone"
	_, err := newCreds(t, o).GetRequestMetadata(over(t, credentials.PrivacyAndIntegrity))
	o = s.options(t)
	o.ActorTokenPath = "gone"
	_, err2 := newCreds(t, o).GetRequestMetadata(over(t, credentials.PrivacyAndIntegrity))
	if !errors.Is(err, os.ErrNotExist) || !errors.Is(err2, os.ErrNotExist) {
		t.Errorf("%v, %v", err, err2)
	}
}

// TestAnswersDoNotPace: a service that answers at once is not asked by every RPC, whatever it
// answers.
func TestAnswersDoNotPace(t *testing.T) {
	for _, tt := range []struct {
		status int
		answer string
	}{
		{http.StatusOK, answer("new", 0)},
		{http.StatusOK, answer("new", 299)},
		{http.StatusOK, "{}"},
		{http.StatusServiceUnavailable, ""},
	} {
		s := newService(t)
		s.set(tt.status, tt.answer)
		c := newCreds(t, s.options(t))
		begin := time.Now()
		for range 300 {
			_, _ = c.GetRequestMetadata(over(t, credentials.PrivacyAndIntegrity))
		}
		if most := 11 + int(time.Since(begin)/(100*time.Millisecond)); len(s.requests) > most {
			t.Errorf("%d %s: %d exchanges, want %d at most", tt.status, tt.answer, len(s.requests), most)
		}
	}
}

// TestHangs: neither the RPC that exchanges tokens nor those behind it wait for ever.
func TestHangs(t *testing.T) {
	s := newService(t)
	s.hang = true
	c := newCreds(t, s.options(t))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(over(t, credentials.PrivacyAndIntegrity), 20*time.Millisecond)
			defer cancel()
			if md, err := c.GetRequestMetadata(ctx); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("%v, %v", md, err)
			}
		})
	}
	wg.Wait()
}

func TestLevels(t *testing.T) {
	s := newService(t)
	c := newCreds(t, s.options(t))
	for _, ctx := range []context.Context{t.Context(), over(t, credentials.NoSecurity), over(t, credentials.IntegrityOnly)} {
		if md, err := c.GetRequestMetadata(ctx); err == nil {
			t.Errorf("sent %v", md)
		}
	}
	if len(s.requests) != 0 || !c.RequireTransportSecurity() {
		t.Errorf("%d exchanges", len(s.requests))
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{},
		{TokenExchangeServiceURI: "host", SubjectTokenPath: "p", SubjectTokenType: "t"},
		{TokenExchangeServiceURI: "ftp://host", SubjectTokenPath: "p", SubjectTokenType: "t"},
		{TokenExchangeServiceURI: "http://a b", SubjectTokenPath: "p", SubjectTokenType: "t"},
		{TokenExchangeServiceURI: "http://host", SubjectTokenType: "t"},
		{TokenExchangeServiceURI: "http://host", SubjectTokenPath: "p"},
	} {
		if _, err := NewCredentials(o); err == nil {
			t.Errorf("%v passes", o)
		}
	}
	o := Options{"http://u", "r", "a", "s", "t", "sp", "st", "ap", "at"}
	if got := o.String(); got != "http://u:r:a:s:t:sp:st:ap:at" {
		t.Error(got)
	}
}
