// SPDX-License-Identifier: Apache-2.0

package jwt_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/jwt"
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

func over(t *testing.T, level credentials.SecurityLevel) context.Context {
	return credentials.NewContextWithRequestInfo(t.Context(), credentials.RequestInfo{
		AuthInfo: info{credentials.CommonAuthInfo{SecurityLevel: level}},
	})
}

// token is a JWT that is good for a while; name tells it from others.
func token(name string, good time.Duration) string {
	claims := fmt.Sprintf(`{"sub": %q, "exp": %d}`, name, time.Now().Add(good).Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newCreds(t *testing.T, path string) credentials.PerRPCCredentials {
	t.Helper()
	c, err := jwt.NewTokenFileCallCredentials(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFiles(t *testing.T) {
	good := token("a", time.Hour)
	for text, want := range map[string]codes.Code{
		good:                       codes.OK,
		" \n" + good + "\r\n":      codes.OK,
		"":                         codes.Unauthenticated,
		" \n":                      codes.Unauthenticated,
		good + "\x00\n":            codes.Unauthenticated,
		good[:6] + "\n" + good[6:]: codes.Unauthenticated, // which Go's decoder of base64 ignores
		"e3\r\n" + good[2:]:        codes.Unauthenticated,
		good + "\n" + good:         codes.Unauthenticated,
		good + "\t":                codes.OK,
		good + "\u00e9":            codes.Unauthenticated,
		"text":                     codes.Unauthenticated,
		"e30.e30.c2ln":             codes.Unauthenticated, // no "exp"
		token("a", -time.Second*2): codes.Unauthenticated,
	} {
		path := filepath.Join(t.TempDir(), "token")
		write(t, path, text)
		md, err := newCreds(t, path).GetRequestMetadata(over(t, credentials.PrivacyAndIntegrity), "https://x/y")
		if status.Code(err) != want || want == codes.OK && (len(md) != 1 || md["authorization"] != "Bearer "+good) {
			t.Errorf("%q: %v, %v", text, md, err)
		}
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "gone"), t.TempDir()} {
		_, err := newCreds(t, path).GetRequestMetadata(over(t, credentials.PrivacyAndIntegrity), "https://x/y")
		if status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := jwt.NewTokenFileCallCredentials(""); err == nil {
		t.Error("no error without a path")
	}
}

func TestLevels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write(t, path, token("a", time.Hour))
	c := newCreds(t, path)
	for _, ctx := range []context.Context{t.Context(), over(t, credentials.NoSecurity), over(t, credentials.IntegrityOnly)} {
		if md, err := c.GetRequestMetadata(ctx); err == nil {
			t.Errorf("sent %v", md)
		}
	}
	if !c.RequireTransportSecurity() {
		t.Error("does not require transport security")
	}
	if _, err := grpc.NewClient("x", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(c)); err == nil {
		t.Error("a channel without transport security takes a token")
	}
}

// TestRenewal renews the file before the token in it expires.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "token")
		first := token("first", 10*time.Minute)
		write(t, path, first)
		c := newCreds(t, path)
		expect := func(want string) {
			t.Helper()
			md, err := c.GetRequestMetadata(over(t, credentials.PrivacyAndIntegrity))
			if err != nil || md["authorization"] != "Bearer "+want {
				t.Errorf("%v, %v", md, err)
			}
			synctest.Wait()
		}
		expect(first)
		second := token("second", 20*time.Minute)
		write(t, path, second)
		time.Sleep(8 * time.Minute)
		expect(first)
		time.Sleep(40 * time.Second)
		expect(first) // has the file read
		expect(second)
	})
}

// TestRPC sends a token to a server, and sees one fail that can't be read.
func TestRPC(t *testing.T) {
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	serverTLS, err := credentials.NewServerTLSFromFile(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := credentials.NewClientTLSFromFile(files.CA, "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan []string, 1)
	srv := grpc.NewServer(grpc.Creds(serverTLS), grpc.UnaryInterceptor(
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			seen <- metadata.ValueFromIncomingContext(ctx, "authorization")
			return h(ctx, req)
		}))
	healthpb.RegisterHealthServer(srv, health.NewServer())
	go srv.Serve(l)
	defer srv.Stop()

	path := filepath.Join(t.TempDir(), "token")
	good := token("a", time.Hour)
	write(t, path, good)
	for p, want := range map[string]codes.Code{path: codes.OK, path + "-gone": codes.Unavailable} {
		cc, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(trust), grpc.WithPerRPCCredentials(newCreds(t, p)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{})
		if status.Code(err) != want {
			t.Errorf("%s: %v", p, err)
		}
		if want == codes.OK {
			if got := <-seen; len(got) != 1 || got[0] != "Bearer "+good {
				t.Errorf("the server has %q", got)
			}
		}
		cc.Close()
	}
}
