// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/interop/testcerts"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestA65Handshake(t *testing.T) {
	f, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, config string
		mutual, ok   bool
	}{
		{"own authority", fmt.Sprintf(`{"ca_certificate_file":%q}`, f.CA), false, true},
		{"mutual", fmt.Sprintf(`{"ca_certificate_file":%q,"certificate_file":%q,"private_key_file":%q}`, f.CA, f.Cert, f.Key), true, true},
		{"no certificate", fmt.Sprintf(`{"ca_certificate_file":%q}`, f.CA), true, false},
		{"the system's roots", ``, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bundle, stop, err := GetChannelCredentials("tls").Build(json.RawMessage(tt.config))
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			config := &tls.Config{Certificates: []tls.Certificate{cert}}
			if tt.mutual {
				config.ClientAuth = tls.RequireAnyClientCert
			}
			client, server := pair(t)
			served := make(chan error, 1)
			go func() {
				_, _, err := credentials.NewTLS(config).ServerHandshake(server)
				if err != nil {
					server.Close()
				}
				served <- err
			}()
			creds := bundle.TransportCredentials().Clone()
			_, _, err = creds.ClientHandshake(context.Background(), "localhost:443", client)
			if err != nil {
				client.Close()
			}
			if got := <-served; (err == nil && got == nil) != tt.ok {
				t.Errorf("client: %v; server: %v", err, got)
			}
		})
	}
}

// pair returns the two ends of a TCP connection.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	if client, err = net.Dial("tcp", lis.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = lis.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{client, server} {
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		t.Cleanup(func() { c.Close() })
	}
	return client, server
}

func TestBuiltin(t *testing.T) {
	for _, name := range []string{"google_default", "insecure", "tls"} {
		c := GetChannelCredentials(name)
		if c == nil || c.Name() != name {
			t.Errorf("%s: %v", name, c)
			continue
		}
		bundle, stop, err := c.Build(nil)
		if err != nil || bundle == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		stop()
	}
	if GetChannelCredentials("Insecure") != nil || GetCallCredentials("insecure") != nil {
		t.Error("names are found that are not there")
	}
	for config, ok := range map[string]bool{``: false, `{}`: false, `[]`: false, `{"jwt_token_file":"/x"}`: true} {
		creds, _, err := GetCallCredentials("jwt_token_file").Build(json.RawMessage(config))
		if (err == nil) != ok || (creds != nil) != ok {
			t.Errorf("%q: %v", config, err)
		}
	}
}

// asking is a kind of credentials whose Name looks at the registry.
type asking struct{}

func (asking) Name() string {
	GetChannelCredentials("asking")
	GetCallCredentials("asking")
	return "asking"
}

type askingChannel struct{ asking }

func (askingChannel) Build(json.RawMessage) (credentials.Bundle, func(), error) { return nil, nil, nil }

type askingCall struct{ asking }

func (askingCall) Build(json.RawMessage) (credentials.PerRPCCredentials, func(), error) {
	return nil, nil, nil
}

func TestNameAsksRegistry(t *testing.T) {
	RegisterChannelCredentials(askingChannel{})
	RegisterCallCredentials(askingCall{})
	if GetChannelCredentials("asking") != (askingChannel{}) || GetCallCredentials("asking") != (askingCall{}) {
		t.Error("they are not registered")
	}
}
