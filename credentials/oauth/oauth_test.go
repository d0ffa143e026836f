// SPDX-License-Identifier: Apache-2.0

package oauth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/oauth"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

type info struct{ credentials.CommonAuthInfo }

func (info) AuthType() string { return "test" }

// over returns the context of an RPC whose connection has a level.
func over(t *testing.T, level credentials.SecurityLevel) context.Context {
	return credentials.NewContextWithRequestInfo(t.Context(), credentials.RequestInfo{
		AuthInfo: info{credentials.CommonAuthInfo{SecurityLevel: level}},
	})
}

func safe(t *testing.T) context.Context { return over(t, credentials.PrivacyAndIntegrity) }

// sourceFunc is a function as an oauth2.TokenSource.
type sourceFunc func() (*oauth2.Token, error)

func (f sourceFunc) Token() (*oauth2.Token, error) { return f() }

func static(token *oauth2.Token, err error) oauth.TokenSource {
	return oauth.TokenSource{TokenSource: sourceFunc(func() (*oauth2.Token, error) { return token, err })}
}

func TestTokenTypes(t *testing.T) {
	for kind, want := range map[string]string{"": "Bearer a", "bearer": "Bearer a", "mac": "MAC a", "bAsIc": "Basic a", "Own": "Own a"} {
		for _, c := range []credentials.PerRPCCredentials{
			static(&oauth2.Token{AccessToken: "a", TokenType: kind}, nil),
			oauth.NewOauthAccess(&oauth2.Token{AccessToken: "a", TokenType: kind, Expiry: time.Unix(1, 0)}),
		} {
			md, err := c.GetRequestMetadata(safe(t))
			if err != nil || len(md) != 1 || md["authorization"] != want || !c.RequireTransportSecurity() {
				t.Errorf("%T %q: %v, %v", c, kind, md, err)
			}
		}
	}
}

func TestNoToken(t *testing.T) {
	broken := errors.New("broken")
	if _, err := static(nil, broken).GetRequestMetadata(safe(t)); !errors.Is(err, broken) {
		t.Error(err)
	}
	for _, c := range []credentials.PerRPCCredentials{oauth.NewOauthAccess(nil), oauth.TokenSource{}, static(nil, nil)} {
		if md, err := c.GetRequestMetadata(safe(t)); err == nil {
			t.Errorf("%T: %v", c, md)
		}
	}
}

func TestLevels(t *testing.T) {
	key := newKey(t, "http://127.0.0.1:1")
	jwtAccess, err := oauth.NewJWTAccessFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]credentials.PerRPCCredentials{
		"TokenSource": static(&oauth2.Token{AccessToken: "a"}, nil),
		"oauthAccess": oauth.NewOauthAccess(&oauth2.Token{AccessToken: "a"}),
		"jwtAccess":   jwtAccess,
	} {
		for _, level := range []credentials.SecurityLevel{credentials.NoSecurity, credentials.IntegrityOnly} {
			_, err := c.GetRequestMetadata(over(t, level), "https://x/y")
			want := fmt.Sprintf("unable to transfer %s PerRPCCredentials: requires SecurityLevel PrivacyAndIntegrity; connection has %v", name, level)
			if err == nil || err.Error() != want {
				t.Errorf("%s over %v: %v", name, level, err)
			}
		}
		if _, err := c.GetRequestMetadata(t.Context(), "https://x/y"); err == nil {
			t.Errorf("%s: sent over nobody knows what", name)
		}
	}
}

// newKey returns the JSON key of a service account.
func newKey(t *testing.T, tokenURI string) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "me@example.com", "private_key_id": "k1", "token_uri": tokenURI,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// claims returns those of a signed token behind "Bearer ".
func claims(t *testing.T, header string) map[string]any {
	t.Helper()
	parts := strings.Split(strings.TrimPrefix(header, "Bearer "), ".")
	if len(parts) != 3 {
		t.Fatalf("%q is no JWT", header)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestJWTAccess(t *testing.T) {
	c, err := oauth.NewJWTAccessFromKey(newKey(t, "http://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	get := func(uri ...string) string {
		t.Helper()
		md, err := c.GetRequestMetadata(safe(t), uri...)
		if err != nil {
			t.Fatal(err)
		}
		return md["authorization"]
	}
	for uri, want := range map[string]string{
		"https://svc.example.com/pkg.Service":     "https://svc.example.com/",
		"https://svc.example.com:443/pkg.Service": "https://svc.example.com:443/",
		"https://svc.example.com":                 "https://svc.example.com/",
	} {
		got := claims(t, get(uri))
		if got["aud"] != want || got["iss"] != "me@example.com" || got["sub"] != "me@example.com" || got["exp"].(float64)-got["iat"].(float64) != 3600 {
			t.Errorf("%s: %v", uri, got)
		}
	}
	// Signing takes a millisecond: once for each service is enough.
	first := get("https://a/s")
	if get("https://a/t") != first {
		t.Error("signed twice")
	}
	for i := range 200 {
		get(fmt.Sprintf("https://host%d/s", i))
	}
	for _, uri := range [][]string{nil, {"://"}} {
		if md, err := c.GetRequestMetadata(safe(t), uri...); err == nil {
			t.Errorf("%q: %v", uri, md)
		}
	}
}

func TestBadKeys(t *testing.T) {
	for _, key := range []string{"", "{}", `{"type":"authorized_user"}`, `{"type":"service_account","private_key":"x"}`} {
		c, err := oauth.NewJWTAccessFromKey([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		if md, err := c.GetRequestMetadata(safe(t), "https://x/y"); err == nil {
			t.Errorf("jwt access %q: %v", key, md)
		}
		c, err = oauth.NewServiceAccountFromKey([]byte(key))
		if err != nil {
			continue
		}
		if md, err := c.GetRequestMetadata(safe(t)); err == nil {
			t.Errorf("service account %q: %v", key, md)
		}
	}
	gone := filepath.Join(t.TempDir(), "gone")
	_, err1 := oauth.NewJWTAccessFromFile(gone)
	_, err2 := oauth.NewServiceAccountFromFile(gone)
	if !errors.Is(err1, os.ErrNotExist) || !errors.Is(err2, os.ErrNotExist) {
		t.Errorf("%v, %v", err1, err2)
	}
}

// tokenService is an OAuth 2.0 token endpoint.
type tokenService struct {
	*httptest.Server
	mu        sync.Mutex
	served    int
	lifetime  int // seconds
	fail      int // HTTP status, if not 0
	assertion string
	hang      chan struct{} // if not nil, answers wait for it
}

func newTokenService(t *testing.T) *tokenService {
	s := &tokenService{lifetime: 3600}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *tokenService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	hang := s.hang
	s.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-r.Context().Done():
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served++
	s.assertion = r.FormValue("assertion")
	if s.fail != 0 {
		w.WriteHeader(s.fail)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token": "t%d", "token_type": "Bearer", "expires_in": %d}`, s.served, s.lifetime)
}

func (s *tokenService) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func TestServiceAccount(t *testing.T) {
	ts := newTokenService(t)
	c, err := oauth.NewServiceAccountFromKey(newKey(t, ts.URL), "scope1", "scope2")
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		md, err := c.GetRequestMetadata(safe(t), "https://x/y")
		if want == "" {
			var refused *oauth2.RetrieveError
			if !errors.As(err, &refused) {
				t.Errorf("%v, %v", md, err)
			}
			return
		}
		if err != nil || md["authorization"] != want {
			t.Errorf("%v, %v, want %s", md, err, want)
		}
	}
	ts.set(func() { ts.fail = http.StatusForbidden })
	expect("")
	ts.set(func() { ts.fail, ts.lifetime = 0, 1 })
	expect("Bearer t2")
	expect("Bearer t2") // for a second, though it is to expire: RPCs do not pace requests
	ts.set(func() { ts.lifetime = 3600 })
	if c, err = oauth.NewServiceAccountFromKey(newKey(t, ts.URL), "scope1", "scope2"); err != nil {
		t.Fatal(err)
	}
	expect("Bearer t3")
	expect("Bearer t3")
	if got := claims(t, ts.assertion); got["scope"] != "scope1 scope2" || got["aud"] != ts.URL {
		t.Errorf("%v", got)
	}
}

// TestServiceAccountFails: a token service that refuses at once is not asked by every RPC.
func TestServiceAccountFails(t *testing.T) {
	ts := newTokenService(t)
	ts.set(func() { ts.fail = http.StatusForbidden })
	c, err := oauth.NewServiceAccountFromKey(newKey(t, ts.URL))
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for range 300 {
		var refused *oauth2.RetrieveError
		if _, err := c.GetRequestMetadata(safe(t)); !errors.As(err, &refused) {
			t.Fatal(err)
		}
	}
	if most := 11 + int(time.Since(begin)/(100*time.Millisecond)); ts.served > most {
		t.Errorf("%d requests, want %d at most", ts.served, most)
	}
}

// TestServiceAccountHangs: an RPC waits for the token service no longer than it may, and
// there is one request for all.
func TestServiceAccountHangs(t *testing.T) {
	ts := newTokenService(t)
	hang := make(chan struct{})
	ts.set(func() { ts.hang = hang })
	c, err := oauth.NewServiceAccountFromKey(newKey(t, ts.URL))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(safe(t), 50*time.Millisecond)
			defer cancel()
			if md, err := c.GetRequestMetadata(ctx); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("%v, %v", md, err)
			}
		})
	}
	wg.Wait()
	close(hang)
	if md, err := c.GetRequestMetadata(safe(t)); err != nil || md["authorization"] != "Bearer t1" {
		t.Errorf("%v, %v", md, err)
	}
}

func TestApplicationDefault(t *testing.T) {
	ts := newTokenService(t)
	path := filepath.Join(t.TempDir(), "key.json")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
	if _, err := oauth.NewApplicationDefault(t.Context()); err == nil {
		t.Error("found without a file")
	}
	if err := os.WriteFile(path, newKey(t, ts.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	signs, err := oauth.NewApplicationDefault(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	md, err := signs.GetRequestMetadata(safe(t), "https://host/service")
	if err != nil || claims(t, md["authorization"])["aud"] != "https://host/" {
		t.Errorf("%v, %v", md, err)
	}
	fetches, err := oauth.NewApplicationDefault(t.Context(), "scope")
	if err != nil {
		t.Fatal(err)
	}
	md, err = fetches.GetRequestMetadata(safe(t), "https://host/service")
	if err != nil || md["authorization"] != "Bearer t1" {
		t.Errorf("%v, %v", md, err)
	}
	user := `{"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r"}`
	if err := os.WriteFile(path, []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := oauth.NewApplicationDefault(t.Context()); err != nil {
		t.Error(err)
	} else if _, ok := c.(oauth.TokenSource); !ok {
		t.Errorf("a user's key became %T", c)
	}
}

func TestComputeEngine(t *testing.T) {
	md := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/token" || r.Header.Get("Metadata-Flavor") != "Google" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, `{"access_token": "gce", "token_type": "Bearer", "expires_in": 3600}`)
	}))
	defer md.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(md.URL, "http://"))
	got, err := oauth.NewComputeEngine().GetRequestMetadata(safe(t), "https://x/y")
	if err != nil || got["authorization"] != "Bearer gce" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestComputeEngineFails: a metadata server that refuses at once is not asked by every RPC.
func TestComputeEngineFails(t *testing.T) {
	var served atomic.Int64
	md := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer md.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(md.URL, "http://"))
	c := oauth.NewComputeEngine()
	begin := time.Now()
	for range 300 {
		if token, err := c.GetRequestMetadata(safe(t)); err == nil {
			t.Fatalf("got %v", token)
		}
	}
	if most := 11 + int64(time.Since(begin)/(100*time.Millisecond)); served.Load() > most {
		t.Errorf("%d requests, want %d at most", served.Load(), most)
	}
}

// TestComputeEngineExpired: one whose tokens expire at once is not asked by every RPC.
func TestComputeEngineExpired(t *testing.T) {
	var served atomic.Int64
	md := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		fmt.Fprint(w, `{"access_token": "gce", "token_type": "Bearer", "expires_in": 1}`)
	}))
	defer md.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(md.URL, "http://"))
	c := oauth.NewComputeEngine()
	begin := time.Now()
	for range 300 {
		if got, err := c.GetRequestMetadata(safe(t)); err != nil || got["authorization"] != "Bearer gce" {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if most := 1 + int64(time.Since(begin)/time.Second); served.Load() > most {
		t.Errorf("%d requests, want %d at most", served.Load(), most)
	}
}

// TestComputeEngineHangs: an RPC waits for the metadata server no longer than it may, and there is
// one request for all.
func TestComputeEngineHangs(t *testing.T) {
	var served atomic.Int64
	release := make(chan struct{})
	md := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		<-release
		fmt.Fprint(w, `{"access_token": "gce", "token_type": "Bearer", "expires_in": 3600}`)
	}))
	defer md.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(md.URL, "http://"))
	c := oauth.NewComputeEngine()
	for range 4 {
		ctx, cancel := context.WithTimeout(safe(t), 20*time.Millisecond)
		if token, err := c.GetRequestMetadata(ctx); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%v, %v", token, err)
		}
		cancel()
	}
	close(release)
	if got, err := c.GetRequestMetadata(safe(t)); err != nil || got["authorization"] != "Bearer gce" || served.Load() != 1 {
		t.Errorf("%v, %v after %d requests", got, err, served.Load())
	}
}

// TestRPC sends tokens over TLS, and finds out that they are not sent without.
func TestRPC(t *testing.T) {
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tls, err := credentials.NewServerTLSFromFile(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan []string, 1)
	srv := grpc.NewServer(grpc.Creds(tls), grpc.UnaryInterceptor(
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			seen <- metadata.ValueFromIncomingContext(ctx, "authorization")
			return h(ctx, req)
		}))
	healthpb.RegisterHealthServer(srv, health.NewServer())
	go srv.Serve(l)
	defer srv.Stop()

	trust, err := credentials.NewClientTLSFromFile(files.CA, "")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no token today")
	for _, tt := range []struct {
		creds credentials.PerRPCCredentials
		code  codes.Code
	}{
		{static(&oauth2.Token{AccessToken: "secret"}, nil), codes.OK},
		{static(nil, broken), codes.Unauthenticated},
	} {
		cc, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(trust), grpc.WithPerRPCCredentials(tt.creds))
		if err != nil {
			t.Fatal(err)
		}
		_, err = healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{})
		if status.Code(err) != tt.code {
			t.Errorf("%v, want %v", err, tt.code)
		}
		if tt.code == codes.OK {
			if got := <-seen; len(got) != 1 || got[0] != "Bearer secret" {
				t.Errorf("the server has %q", got)
			}
		}
		cc.Close()
	}
	_, err = grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(static(&oauth2.Token{AccessToken: "secret"}, nil)))
	if err == nil {
		t.Error("a channel without transport security takes a token")
	}
}
