// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/google"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/jwt"
	"google.golang.org/grpc/credentials/oauth"
	"google.golang.org/grpc/credentials/sts"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/credentials/tls/certprovider/pemfile"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// A secretWay sends secrets in one way.
type secretWay struct {
	name string
	env  []string
	run  func(*watch)
}

// secretProbes print which observers see a secret, a line each. What this module shows and
// the published one does not is a fault.
func secretProbes() []probe.Probe {
	var out []probe.Probe
	for _, ways := range [][]secretWay{tokenWays, metadataWays(), keyWays, peerWays(), proxyWays(), tokenFaultWays(), xdsSecretWays()} {
		for _, way := range ways {
			env := append([]string{"GRPC_BINARY_LOG_FILTER=probe.Probe/*"}, way.env...)
			out = append(out, probe.Probe{Name: way.name, Env: env, Fewer: true, Limit: 20 * time.Second, Run: func(p *probe.P) {
				w := newWatch(p)
				way.run(w)
				w.finish()
			}})
		}
	}
	return out
}

// secretBundle has per-RPC credentials.
type secretBundle struct {
	transport credentials.TransportCredentials
	token     credentials.PerRPCCredentials
}

func (b secretBundle) TransportCredentials() credentials.TransportCredentials { return b.transport }
func (b secretBundle) PerRPCCredentials() credentials.PerRPCCredentials       { return b.token }
func (b secretBundle) NewWithMode(string) (credentials.Bundle, error)         { return b, nil }

// tokenOf are credentials that bring a secret. Their values are behind a pointer, as those of
// programs are.
func tokenOf(key, value string) credentials.PerRPCCredentials {
	return &token{md: map[string]string{key: value}}
}

// insecurely makes a call over a pair without TLS.
func insecurely(change func(*rig.Pair), opts ...grpc.CallOption) func(*watch) {
	return func(w *watch) {
		s := w.pair(change)
		w.call(w.Context(), s, opts...)
		w.stream(s, opts...)
	}
}

// stream makes a streaming call.
func (w *watch) stream(cc grpc.ClientConnInterface, opts ...grpc.CallOption) {
	ctx, cancel := context.WithTimeout(w.Context(), callLimit)
	defer cancel()
	stream, err := cc.NewStream(ctx, rig.BidiDesc, rig.Bidi, opts...)
	if err == nil {
		w.print("ClientStream", stream)
		w.see("ClientStream's context, printed", fmt.Sprint(stream.Context()))
		out, _ := metadata.FromOutgoingContext(stream.Context())
		w.see("ClientStream's context, outgoing metadata", fmt.Sprint(out))
		_ = stream.SendMsg(rig.M("q"))
		_ = stream.CloseSend()
		for err == nil {
			err = stream.RecvMsg(new(rig.Msg))
		}
	}
	if err != io.EOF {
		w.print("error of a stream", err)
	}
}

var tokenWays = []secretWay{
	{"token/of a call", nil, insecurely(nil, grpc.PerRPCCredentials(tokenOf("authorization", "Bearer "+secret)))},
	{"token/of a call, another key", nil, insecurely(nil, grpc.PerRPCCredentials(tokenOf("x-api-key", secret)))},
	{"token/of a call, binary", nil, insecurely(nil, grpc.PerRPCCredentials(tokenOf("token-bin", secret)))},
	{"token/of a channel", nil, insecurely(func(p *rig.Pair) {
		p.Dial = append(p.Dial, grpc.WithPerRPCCredentials(tokenOf("authorization", "Bearer "+secret)))
	})},
	{"token/of a channel and a call", nil, insecurely(func(p *rig.Pair) {
		p.Dial = append(p.Dial, grpc.WithPerRPCCredentials(tokenOf("authorization", secret)))
	}, grpc.PerRPCCredentials(tokenOf("token", secondSecret)))},
	{"token/of a bundle", nil, insecurely(func(p *rig.Pair) {
		p.Secure = true
		p.Dial = append(p.Dial, grpc.WithCredentialsBundle(secretBundle{insecure.NewCredentials(), tokenOf("authorization", secret)}))
	})},
	{"token/that fails", nil, insecurely(nil, grpc.PerRPCCredentials(&token{err: errors.New(secret)}))},
	{"token/that fails with a status", nil, insecurely(nil, grpc.PerRPCCredentials(&token{err: status.Error(codes.NotFound, secret)}))},
	{"token/with an illegal value", nil, insecurely(nil, grpc.PerRPCCredentials(tokenOf("authorization", secret+"\n")))},
	{"token/with an illegal key", nil, insecurely(nil, grpc.PerRPCCredentials(tokenOf("b d", secret)))},
	{"token/with a reserved key", nil, insecurely(nil, grpc.PerRPCCredentials(tokenOf("grpc-x", secret)))},
	{"token/too long", nil, insecurely(func(p *rig.Pair) { p.Server = append(p.Server, grpc.MaxHeaderListSize(400)) },
		grpc.PerRPCCredentials(tokenOf("authorization", strings.Repeat(secret, 50))))},
	{"token/that needs TLS", nil, insecurely(nil, grpc.PerRPCCredentials(&token{secure: true, md: map[string]string{"authorization": secret}}))},
	{"token/refused by the server", nil, insecurely(func(p *rig.Pair) {
		p.Handlers.Unary = func(context.Context, *rig.Msg) (*rig.Msg, error) {
			return nil, status.Error(codes.Unauthenticated, "no")
		}
	}, grpc.PerRPCCredentials(tokenOf("authorization", secret)))},
	{"token/retried", nil, func(w *watch) {
		s := w.pair(func(p *rig.Pair) {
			p.Dial = append(p.Dial, grpc.WithDefaultServiceConfig(`{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.01s","maxBackoff":"0.01s","backoffMultiplier":1,"retryableStatusCodes":["ABORTED"]}}]}`))
			p.Handlers.Unary = func(context.Context, *rig.Msg) (*rig.Msg, error) { return nil, status.Error(codes.Aborted, "no") }
		})
		w.call(w.Context(), s, grpc.PerRPCCredentials(tokenOf("authorization", secret)))
	}},
	{"token/server's tap refuses", nil, insecurely(func(p *rig.Pair) {
		p.Server = append(p.Server, grpc.InTapHandle(func(context.Context, *tap.Info) (context.Context, error) {
			return nil, status.Error(codes.Aborted, "no")
		}))
	}, grpc.PerRPCCredentials(tokenOf("authorization", secret)))},
	{"token/oauth", nil, func(w *watch) {
		w.over(oauth.NewOauthAccess(&oauth2.Token{AccessToken: secret, RefreshToken: secondSecret}))
	}},
	{"token/oauth token source", nil, func(w *watch) {
		w.over(oauth.TokenSource{TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: secret, RefreshToken: secondSecret})})
	}},
	{"token/jwt of a file", nil, func(w *watch) {
		claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, time.Now().Add(time.Hour).Unix()))
		c, err := jwt.NewTokenFileCallCredentials(w.file("e30." + claims + "." + secret))
		w.print("error of credentials", err)
		w.over(c)
	}},
	{"token/sts", nil, func(w *watch) {
		w.exchange(http.StatusOK, `{"access_token":"`+secret+`","token_type":"Bearer","expires_in":3600}`)
	}},
}

// over calls through TLS with per-RPC credentials of a call and of the channel.
func (w *watch) over(c credentials.PerRPCCredentials) {
	w.print("PerRPCCredentials", c)
	cert, pool := rig.Certificate()
	s := w.pair(func(p *rig.Pair) {
		p.Secure = true
		p.Server = append(p.Server, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
		p.Dial = append(p.Dial, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "probe.example"})), grpc.WithPerRPCCredentials(c))
	})
	w.call(w.Context(), s)
	w.stream(s, grpc.PerRPCCredentials(c))
	w.print("PerRPCCredentials after a call", c)
	w.print("ClientConn after a call", s.ClientConn)
}

// file is the name of one with a text.
func (w *watch) file(text string) string {
	dir, err := os.MkdirTemp("", "secrets")
	if err != nil {
		panic(err)
	}
	w.Cleanup(func() { _ = os.RemoveAll(dir) })
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		panic(err)
	}
	return name
}

// exchange has tokens exchanged by a service that answers so.
func (w *watch) exchange(code int, answer string) {
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(code)
		_, _ = io.WriteString(rw, answer)
	}))
	w.Cleanup(s.Close)
	o := sts.Options{
		TokenExchangeServiceURI: s.URL, SubjectTokenPath: w.file(secondSecret), SubjectTokenType: "urn:x",
		ActorTokenPath: w.file(secondSecret), ActorTokenType: "urn:y",
	}
	w.print("sts.Options", o)
	c, err := sts.NewCredentials(o)
	w.print("error of credentials", err)
	w.over(c)
}

// metadataWays send secrets as metadata, both ways, and in what else a call consists of.
func metadataWays() []secretWay {
	sent := func(pairs ...string) func(*watch) {
		return func(w *watch) {
			s := w.pair(nil)
			ctx := metadata.AppendToOutgoingContext(w.Context(), pairs...)
			w.call(ctx, s)
			w.stream(s)
		}
	}
	answered := func(header, trailer metadata.MD, err error) func(*watch) {
		return func(w *watch) {
			s := w.pair(func(p *rig.Pair) {
				p.Handlers.Unary = func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
					w.see("context of a handler, printed", fmt.Sprint(ctx))
					w.print("error of SetHeader", grpc.SetHeader(ctx, header))
					w.print("error of SetTrailer", grpc.SetTrailer(ctx, trailer))
					return m, err
				}
			})
			w.call(w.Context(), s)
		}
	}
	return []secretWay{
		{"metadata/authorization", nil, sent("authorization", secret)},
		{"metadata/cookie", nil, sent("cookie", secret)},
		{"metadata/a key of its own", nil, sent("x", secret)},
		{"metadata/binary", nil, sent("x-bin", secret)},
		{"metadata/illegal value", nil, sent("x", secret+"\x00")},
		{"metadata/illegal key", nil, sent("X y", secret)},
		{"metadata/secret as a key", nil, sent(secret, "x")},
		{"metadata/secret as an illegal key", nil, sent(secret+"!(", "x")},
		{"metadata/reserved", nil, sent("grpc-secret", secret)},
		{"metadata/tags", nil, sent("grpc-tags-bin", secret, "grpc-trace-bin", secondSecret)},
		{"metadata/baggage", nil, sent("baggage", "a="+secret, "traceparent", secondSecret)},
		{"metadata/lb-token", nil, sent("lb-token", secret)},
		{"metadata/user agent", nil, insecurely(func(p *rig.Pair) { p.Dial = append(p.Dial, grpc.WithUserAgent(secret)) })},
		{"metadata/too long", nil, func(w *watch) {
			s := w.pair(func(p *rig.Pair) { p.Server = append(p.Server, grpc.MaxHeaderListSize(300)) })
			w.call(metadata.AppendToOutgoingContext(w.Context(), "x", strings.Repeat(secret, 50)), s)
		}},
		{"metadata/answered", nil, answered(metadata.Pairs("set-cookie", secret), metadata.Pairs("x-bin", secondSecret), nil)},
		{"metadata/answered illegally", nil, answered(metadata.Pairs("x y", secret), metadata.Pairs("x", secondSecret+"\n"), nil)},
		{"metadata/answered with an error", nil, answered(metadata.Pairs("x", secondSecret), nil, status.Error(codes.Internal, secret))},
		{"metadata/answered with a plain error", nil, answered(nil, nil, errors.New(secret))},
		{"metadata/authority of a call", nil, insecurely(nil, grpc.CallAuthority(strings.ToLower(secret)+".example"))},
		{"metadata/authority of a channel", nil, insecurely(func(p *rig.Pair) { p.Dial = append(p.Dial, grpc.WithAuthority(strings.ToLower(secret)+".example")) })},
		{"metadata/user information in the target", nil, func(w *watch) {
			cc, err := grpc.NewClient("dns://user:"+secret+"@127.0.0.1:1/x:1", append(w.dialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
			w.print("error of NewClient", err)
			if err == nil {
				w.Cleanup(func() { _ = cc.Close() })
				w.call(w.Context(), cc)
			}
		}},
		{"metadata/message", nil, func(w *watch) {
			s := w.pair(nil)
			w.print("error of a call", s.Invoke(w.Context(), rig.Unary, rig.M(secret), new(rig.Msg)))
			w.print("error of a call", s.Invoke(w.Context(), rig.Unary, rig.M(strings.Repeat(secret, 99)), new(rig.Msg), grpc.MaxCallSendMsgSize(50)))
			w.print("error of a call", s.Invoke(w.Context(), rig.Unary, secret, new(rig.Msg)))
		}},
		{"metadata/service config", nil, func(w *watch) {
			for _, config := range []string{`{"loadBalancingConfig":[{"` + secret + `":{}}]}`, `{"methodConfig":"` + secret + `"}`, `{"x":"` + secret + `"}`} {
				_, err := grpc.NewClient("x", append(w.dialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(config))...)
				w.print("error of NewClient", err)
			}
		}},
	}
}

// keyOf is a certificate whose key is made of a secret, and a pool that trusts it.
func keyOf() (tls.Certificate, *x509.CertPool) {
	key := ed25519.NewKeyFromSeed([]byte(secret + strings.Repeat("-", ed25519.SeedSize-len(secret))))
	return rig.CertificateOf(key, nil)
}

// pemOf are files of that certificate and its key.
func (w *watch) pemOf() (certFile, keyFile string) {
	cert, _ := keyOf()
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		panic(err)
	}
	return w.file(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}))),
		w.file(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

var keyWays = []secretWay{
	{"key/both sides", nil, func(w *watch) {
		cert, pool := keyOf()
		server := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert})
		client := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, ServerName: "probe.example"})
		w.print("TransportCredentials", server, client, server.Clone(), client.Info())
		s := w.pair(func(p *rig.Pair) {
			p.Secure = true
			p.Server = append(p.Server, grpc.Creds(server))
			p.Dial = append(p.Dial, grpc.WithTransportCredentials(client))
			p.Handlers.Unary = func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
				pr, _ := peer.FromContext(ctx)
				w.print("Peer", pr, pr.AuthInfo)
				w.see("context of a handler, printed", fmt.Sprint(ctx))
				return m, nil
			}
		})
		var pr peer.Peer
		w.call(w.Context(), s, grpc.Peer(&pr))
		w.print("Peer", &pr, pr, pr.AuthInfo)
	}},
	{"key/files", nil, func(w *watch) {
		certFile, keyFile := w.pemOf()
		c, err := credentials.NewServerTLSFromFile(certFile, keyFile)
		w.print("TransportCredentials", c, err)
		_, err = credentials.NewServerTLSFromFile(keyFile, certFile)
		w.print("error of credentials", err)
		_, err = credentials.NewClientTLSFromFile(keyFile, "")
		w.print("error of credentials", err)
	}},
	{"key/pemfile", nil, func(w *watch) {
		certFile, keyFile := w.pemOf()
		for _, files := range [][2]string{{certFile, keyFile}, {keyFile, certFile}} {
			o := pemfile.Options{CertFile: files[0], KeyFile: files[1], RootFile: files[0], RefreshDuration: time.Hour}
			provider, err := pemfile.NewProvider(o)
			w.print("pemfile", o, provider, err)
			if err != nil {
				continue
			}
			ctx, cancel := probe.WithTimeout(w.Context(), 200*time.Millisecond)
			_, err = provider.KeyMaterial(ctx)
			cancel()
			w.print("pemfile", err, provider)
			provider.Close()
		}
	}},
	{"key/certprovider", nil, func(w *watch) {
		d := certprovider.NewDistributor()
		cert, pool := keyOf()
		d.Set(&certprovider.KeyMaterial{Certs: []tls.Certificate{cert}, Roots: pool}, nil)
		w.print("Distributor", d)
		_, err := certprovider.GetProvider("file_watcher", secret, certprovider.BuildOptions{})
		w.print("error of GetProvider", err)
		config, err := certprovider.ParseConfig("file_watcher", secret)
		w.print("error of ParseConfig", config, err)
	}},
}

// tokenFaultWays are sources of tokens that fail with a secret at hand.
func tokenFaultWays() []secretWay {
	var out []secretWay
	for name, text := range map[string]string{
		"no parts": secret, "bad base64": "e30." + secret + "!.x", "bad claims": "e30." + base64.RawURLEncoding.EncodeToString([]byte(secret)) + ".x",
		"no expiry":        "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"a":"`+secret+`"}`)) + "." + secondSecret,
		"expiry of a text": "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":"`+secret+`"}`)) + "." + secondSecret,
		"expired":          "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":5}`)) + "." + secret,
		"two lines":        "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":9999999999}`)) + "." + secret + "\n" + secondSecret,
	} {
		out = append(out, secretWay{"fault/jwt, " + name, nil, func(w *watch) {
			c, err := jwt.NewTokenFileCallCredentials(w.file(text))
			w.print("error of credentials", err)
			w.over(c)
		}})
	}
	for name, a := range map[string]struct {
		code int
		text string
	}{
		"refused":            {http.StatusForbidden, `{"error":"no"}`},
		"refused with token": {http.StatusForbidden, secret},
		"not JSON":           {http.StatusOK, secret},
		"no token":           {http.StatusOK, `{"id_token":"` + secret + `"}`},
		"bad expiry":         {http.StatusOK, `{"access_token":"` + secret + `","expires_in":"` + secondSecret + `"}`},
		"bad type":           {http.StatusOK, `{"access_token":"` + secret + `","token_type":5}`},
		"bad token":          {http.StatusOK, `{"access_token":"` + secret + `\n","token_type":"Bearer"}`},
	} {
		out = append(out, secretWay{"fault/sts, " + name, nil, func(w *watch) { w.exchange(a.code, a.text) }})
	}
	keys := map[string]string{
		"not JSON": secret, "no key": `{"type":"service_account","client_email":"x@y","private_key":"` + secret + `"}`,
		"PEM of something": `{"type":"service_account","client_email":"x@y","private_key":"-----BEGIN PRIVATE KEY-----\nR2VoZWltbmlzMDgxNQ==\n-----END PRIVATE KEY-----\n"}`,
		"another type":     `{"type":"` + secret + `","private_key":"` + secondSecret + `"}`,
		"authorized user":  `{"type":"authorized_user","client_id":"x","client_secret":"` + secret + `","refresh_token":"` + secondSecret + `"}`,
		"wrong types":      `{"type":"service_account","client_email":5,"private_key":["` + secret + `"]}`,
	}
	for name, key := range keys {
		out = append(out, secretWay{"fault/key, " + name, nil, func(w *watch) {
			file := w.file(key)
			_ = os.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
			_ = os.Setenv("GCE_METADATA_HOST", "127.0.0.1:1")
			for of, f := range map[string]func() (credentials.PerRPCCredentials, error){
				"NewJWTAccessFromKey":  func() (credentials.PerRPCCredentials, error) { return oauth.NewJWTAccessFromKey([]byte(key)) },
				"NewJWTAccessFromFile": func() (credentials.PerRPCCredentials, error) { return oauth.NewJWTAccessFromFile(file) },
				"NewServiceAccountFromKey": func() (credentials.PerRPCCredentials, error) {
					return oauth.NewServiceAccountFromKey([]byte(key), "scope")
				},
				"NewServiceAccountFromFile": func() (credentials.PerRPCCredentials, error) { return oauth.NewServiceAccountFromFile(file, "scope") },
			} {
				c, err := f()
				w.print(of, c, err)
				if err == nil {
					ctx, cancel := context.WithTimeout(secureRequest(w.Context()), time.Second)
					_, err = c.GetRequestMetadata(ctx, "https://x.example/y")
					cancel()
					w.print(of+"'s token", err)
				}
			}
			b := google.NewDefaultCredentials()
			w.print("google.NewDefaultCredentials", b, b.PerRPCCredentials())
			cc, err := grpc.NewClient("127.0.0.1:1", append(w.dialOptions(), grpc.WithCredentialsBundle(b))...)
			if err != nil {
				panic(err)
			}
			w.Cleanup(func() { _ = cc.Close() })
			w.call(w.Context(), cc)
		}})
	}
	return out
}

// secureRequest is the context of credentials whose connection is secure.
func secureRequest(ctx context.Context) context.Context {
	return credentials.NewContextWithRequestInfo(ctx, credentials.RequestInfo{Method: rig.Unary, AuthInfo: credentials.TLSInfo{
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
	}})
}
