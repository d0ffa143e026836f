// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/credentials/tls/certprovider/pemfile"
)

// tlsCreds makes the channel credentials "tls" of gRFC A65: TLS with certificates that are
// read again at regular intervals.
type tlsCreds struct{}

func (tlsCreds) Name() string { return "tls" }

// tlsConfig has the same form as the configuration of the file watcher (package pemfile).
type tlsConfig struct {
	CA          string          `json:"ca_certificate_file,omitempty"`
	Certificate string          `json:"certificate_file,omitempty"`
	Key         string          `json:"private_key_file,omitempty"`
	Refresh     json.RawMessage `json:"refresh_interval,omitempty"`
}

func (tlsCreds) Build(config json.RawMessage) (credentials.Bundle, func(), error) {
	var in tlsConfig
	if err := unmarshal(config, &in); err != nil {
		return nil, nil, fmt.Errorf("tls: %w", err)
	}
	if in.CA == "" && in.Certificate == "" && in.Key == "" {
		return &tlsBundle{creds: &watched{}}, nothing, nil
	}
	js, err := json.Marshal(in) // fields that the file watcher must not see, such as a SPIFFE bundle map, are dropped
	if err != nil {
		return nil, nil, fmt.Errorf("tls: %w", err)
	}
	p, err := certprovider.GetProvider(pemfile.PluginName, json.RawMessage(js), certprovider.BuildOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("tls: %w", err)
	}
	return &tlsBundle{creds: &watched{provider: p, roots: in.CA != ""}}, p.Close, nil
}

// tlsBundle has no per-RPC credentials and only one mode.
type tlsBundle struct {
	creds credentials.TransportCredentials
}

func (b *tlsBundle) TransportCredentials() credentials.TransportCredentials { return b.creds }
func (b *tlsBundle) PerRPCCredentials() credentials.PerRPCCredentials       { return nil }

func (b *tlsBundle) NewWithMode(mode string) (credentials.Bundle, error) {
	return nil, fmt.Errorf("xds tls credentials have no mode %q", mode)
}

// watched is TLS for clients. Each handshake uses the certificates that are current at that
// time.
type watched struct {
	provider certprovider.Provider // nil means the system's roots and no client certificate
	roots    bool                  // whether the provider provides roots
	name     string
}

// ClientHandshake implements credentials.TransportCredentials.
func (w *watched) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config := &tls.Config{ServerName: w.name}
	if w.provider != nil {
		km, err := w.provider.KeyMaterial(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("xds tls credentials: %w", err)
		}
		config.Certificates = km.Certs
		if w.roots {
			config.RootCAs = km.Roots
		}
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

// ServerHandshake always fails: bootstrap files configure clients of control planes only.
func (*watched) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("xds tls credentials are for clients")
}

// Info implements credentials.TransportCredentials.
func (w *watched) Info() credentials.ProtocolInfo {
	return credentials.NewTLS(&tls.Config{ServerName: w.name}).Info()
}

// Clone implements credentials.TransportCredentials.
func (w *watched) Clone() credentials.TransportCredentials {
	c := *w
	return &c
}

// OverrideServerName implements credentials.TransportCredentials.
func (w *watched) OverrideServerName(name string) error {
	w.name = name
	return nil
}
