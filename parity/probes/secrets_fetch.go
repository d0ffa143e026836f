// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/google"
	"google.golang.org/grpc/credentials/oauth"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// slowIssuer answers each request with a token, after a second.
func slowIssuer(p *probe.P) string {
	const token = `{"access_token":"t","token_type":"Bearer","expires_in":3600}`
	return "http://" + rig.ConnServer(p, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1<<16))
		time.Sleep(time.Second)
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(token), token)
	})
}

// serviceKey is a service account's key, in JSON, whose token service is at uri.
func serviceKey(uri string) []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	out, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@b", "private_key_id": "k", "token_uri": uri,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		panic(err)
	}
	return out
}

func serviceAccount(uri string) credentials.PerRPCCredentials {
	c, err := oauth.NewServiceAccountFromKey(serviceKey(uri), "scope")
	if err != nil {
		panic(err)
	}
	return c
}

// applicationDefault is credentials of a file with the key, which fetch with ctx.
func applicationDefault(ctx context.Context, p *probe.P, key []byte) credentials.PerRPCCredentials {
	dir, err := os.MkdirTemp("", "secrets")
	if err != nil {
		panic(err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(dir) })
	name := filepath.Join(dir, "key")
	if err := os.WriteFile(name, key, 0o600); err != nil {
		panic(err)
	}
	_ = os.Setenv("GOOGLE_APPLICATION_CREDENTIALS", name)
	c, err := oauth.NewApplicationDefault(ctx, "scope")
	if err != nil {
		panic(err)
	}
	return c
}

// fetchProbes tell how RPCs end whose deadline passes while their token is fetched, what a fetch asks for, and what
// comes of one that does not return.
func fetchProbes() []probe.Probe {
	out := []probe.Probe{
		{Name: "late/compute engine", Alone: true, Run: func(p *probe.P) {
			_ = os.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(slowIssuer(p), "http://"))
			lateCalls(p, oauth.NewComputeEngine)
		}},
		{Name: "late/service account", Alone: true, Run: func(p *probe.P) {
			uri := slowIssuer(p)
			lateCalls(p, func() credentials.PerRPCCredentials { return serviceAccount(uri) })
		}},
		{Name: "fetch/identity", Alone: true, Run: func(p *probe.P) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				p.Printf("%s %s", r.Method, r.RequestURI)
				w.WriteHeader(http.StatusForbidden)
			}))
			p.Cleanup(s.Close)
			_ = os.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(s.URL, "http://"))
			c, err := google.NewServiceAccountIdentityCredentials(p.Context(), "https://a.example/b?c=d")
			if err != nil {
				panic(err)
			}
			_, err = c.GetRequestMetadata(secureRequest(p.Context()))
			code, _, _ := strings.Cut(rig.Err(err), ":")
			p.Printf("%s", code)
		}},
	}
	for name, leave := range map[string]func(){"Goexit": runtime.Goexit, "panic": func() { panic("of the program") }} {
		for of, creds := range map[string]func(context.Context, *probe.P) credentials.PerRPCCredentials{
			"service account": func(context.Context, *probe.P) credentials.PerRPCCredentials {
				return serviceAccount("http://issuer.example/")
			},
			"application default": func(ctx context.Context, p *probe.P) credentials.PerRPCCredentials {
				return applicationDefault(ctx, p, serviceKey("http://issuer.example/"))
			},
		} {
			out = append(out, probe.Probe{Name: "fetch/" + name + ", " + of, Alone: true, Run: func(p *probe.P) {
				var once sync.Once
				ctx := context.WithValue(p.Context(), oauth2.HTTPClient, &http.Client{Transport: trip(func(*http.Request) (*http.Response, error) {
					once.Do(leave)
					body := io.NopCloser(strings.NewReader(`{"access_token":"t","token_type":"Bearer","expires_in":3600}`))
					return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, nil
				})})
				c := creds(ctx, p)
				first := fetched(secureRequest(ctx), c)
				if name == "panic" { // of Goexit the caller learns otherwise: by an error, or it exits too
					p.Printf("%s", first)
				}
				p.Printf("%s", fetched(secureRequest(ctx), c))
			}})
		}
	}
	return out
}

type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// fetched tells what comes of asking c, at most for a second.
func fetched(ctx context.Context, c credentials.PerRPCCredentials) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	got := make(chan string, 1)
	go func() {
		result := "exited"
		defer func() {
			if r := recover(); r != nil {
				result = fmt.Sprint("panic: ", r)
			}
			got <- result
		}()
		md, err := c.GetRequestMetadata(ctx, "https://x.example/y")
		result = fmt.Sprint(md, rig.Err(err))
	}()
	return <-got
}

// lateCalls makes RPCs with new credentials, whose deadline passes before there is a token.
func lateCalls(p *probe.P, creds func() credentials.PerRPCCredentials) {
	cert, pool := rig.Certificate()
	dial := []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "probe.example"}))}
	pair := rig.Pair{Secure: true, TCP: true, Server: []grpc.ServerOption{grpc.Creds(credentials.NewServerTLSFromCert(&cert))}, Dial: dial}
	end := func(of string, s *rig.Started, opts ...grpc.CallOption) {
		s.Ready(p)
		ctx, cancel := probe.WithTimeout(p.Context(), 50*time.Millisecond)
		defer cancel()
		p.Printf("of the %s: %s", of, lateCode(ctx, s, opts...))
	}
	end("call", pair.Start(p), grpc.PerRPCCredentials(creds()))
	pair.Dial = append(dial, grpc.WithPerRPCCredentials(creds()))
	end("channel", pair.Start(p))
}
