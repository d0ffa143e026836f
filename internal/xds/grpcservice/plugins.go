// SPDX-License-Identifier: Apache-2.0

package grpcservice

import (
	"context"
	"errors"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tokenv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/call_credentials/access_token/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/tls/v3"
	xdsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/xds/v3"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/google"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// plugins has the credentials that a control plane has chosen.
type plugins struct {
	channel func() (credentials.Bundle, func(), error)
	calls   []credentials.PerRPCCredentials
	key     string // the same for equal credentials
}

// Credentials implements maker.
func (p *plugins) Credentials() (credentials.Bundle, []credentials.PerRPCCredentials, func(), error) {
	bundle, done, err := p.channel()
	return bundle, p.calls, done, err
}

func parsePlugins(in *corev3.GrpcService_GoogleGrpc, b *bootstrap.Config) (*plugins, error) {
	p := &plugins{}
	for i, m := range in.GetChannelCredentialsPlugin() {
		channel, err := parseChannel(m, b, 0)
		if err != nil {
			return nil, fmt.Errorf("channel_credentials_plugin[%d]: %w", i, err)
		}
		if channel != nil {
			p.channel = channel
			p.key = fmt.Sprintf("%s %x", m.GetTypeUrl(), m.GetValue())
			break
		}
	}
	if p.channel == nil {
		return nil, errors.New("channel_credentials_plugin: no credentials of a known type")
	}
	for i, m := range in.GetCallCredentialsPlugin() {
		if m.MessageName() != "envoy.extensions.grpc_service.call_credentials.access_token.v3.AccessTokenCredentials" {
			continue
		}
		var t tokenv3.AccessTokenCredentials
		if err := proto.Unmarshal(m.GetValue(), &t); err != nil {
			return nil, fmt.Errorf("call_credentials_plugin[%d]: %w", i, err)
		}
		if t.GetToken() == "" {
			return nil, fmt.Errorf("call_credentials_plugin[%d]: token: empty", i)
		}
		p.calls = append(p.calls, bearer(t.GetToken()))
		p.key += " " + t.GetToken()
	}
	return p, nil
}

// maxFallbacks limits how deeply credentials may be nested.
const maxFallbacks = 8

const pluginPrefix = "envoy.extensions.grpc_service.channel_credentials."

// parseChannel returns nil if the type is not known.
func parseChannel(m *anypb.Any, b *bootstrap.Config, depth int) (func() (credentials.Bundle, func(), error), error) {
	nothing := func() {}
	switch m.MessageName() {
	case pluginPrefix + "google_default.v3.GoogleDefaultCredentials":
		return func() (credentials.Bundle, func(), error) { return google.NewDefaultCredentials(), nothing, nil }, nil
	case pluginPrefix + "insecure.v3.InsecureCredentials":
		return func() (credentials.Bundle, func(), error) { return insecure.NewBundle(), nothing, nil }, nil
	case pluginPrefix + "tls.v3.TlsCredentials":
		var in tlsv3.TlsCredentials
		if err := proto.Unmarshal(m.GetValue(), &in); err != nil {
			return nil, err
		}
		return parseTLS(&in, b)
	case pluginPrefix + "xds.v3.XdsCredentials":
		var in xdsv3.XdsCredentials
		if err := proto.Unmarshal(m.GetValue(), &in); err != nil {
			return nil, err
		}
		if depth == maxFallbacks {
			return nil, fmt.Errorf("more than %d credentials in each other", maxFallbacks)
		}
		inner, err := parseChannel(in.GetFallbackCredentials(), b, depth+1)
		if err != nil {
			return nil, fmt.Errorf("fallback_credentials: %w", err)
		}
		if inner == nil {
			return nil, errors.New("fallback_credentials: missing, or of an unknown type")
		}
		return func() (credentials.Bundle, func(), error) { return withFallback(inner) }, nil
	default:
		return nil, nil
	}
}

// withFallback returns xDS credentials whose fallback is inner.
func withFallback(inner func() (credentials.Bundle, func(), error)) (credentials.Bundle, func(), error) {
	under, done, err := inner()
	if err != nil {
		return nil, nil, err
	}
	creds, err := xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: under.TransportCredentials()})
	if err != nil {
		done()
		return nil, nil, err
	}
	return bundle{creds, under.PerRPCCredentials()}, done, nil
}

// bearer is an access token as call credentials.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. It returns true, so that the
// token is never sent in the clear.
func (bearer) RequireTransportSecurity() bool { return true }
