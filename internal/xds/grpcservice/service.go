// SPDX-License-Identifier: Apache-2.0

// Package grpcservice connects to the servers that filters call about RPCs. The message
// envoy.config.core.v3.GrpcService names such a server (gRFC A102).
//
// A trusted control plane chooses the server and the credentials. Any other may only name a
// server that the bootstrap configuration allows, and the bootstrap configuration has the
// credentials for it.
package grpcservice

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
)

// Service is a server and how to connect to it. It is immutable.
type Service struct {
	// Target is the target of the channel.
	Target string
	// Timeout limits the duration of each RPC; 0 means no limit.
	Timeout time.Duration
	// Metadata is sent with each RPC.
	Metadata metadata.MD

	credentials maker
	key         string
}

// maker makes the credentials for a channel. The caller must call done when the channel is
// closed.
type maker interface {
	Credentials() (channel credentials.Bundle, calls []credentials.PerRPCCredentials, done func(), err error)
}

// Key returns a string that is the same for two services if they can share one channel.
func (s *Service) Key() string { return s.key }

// Parse parses a message. It fails if in is nil. The error names the field that is wrong.
func Parse(in *corev3.GrpcService, from httpfilter.Origin) (*Service, error) {
	if in == nil {
		return nil, errors.New("missing")
	}
	google := in.GetGoogleGrpc()
	if google == nil {
		return nil, errors.New("google_grpc is missing: no other target_specifier is supported")
	}
	s := &Service{Target: google.GetTargetUri()}
	if err := checkTarget(s.Target); err != nil {
		return nil, fmt.Errorf("google_grpc.target_uri: %w", err)
	}
	if d := in.GetTimeout(); d != nil {
		if err := d.CheckValid(); err != nil {
			return nil, fmt.Errorf("timeout: %w", err)
		}
		if s.Timeout = d.AsDuration(); s.Timeout <= 0 {
			return nil, fmt.Errorf("timeout: %v is not positive", s.Timeout)
		}
	}
	for i, h := range in.GetInitialMetadata() {
		if err := s.addMetadata(h); err != nil {
			return nil, fmt.Errorf("initial_metadata[%d]: %w", i, err)
		}
	}
	return s, s.chooseCredentials(google, from)
}

func (s *Service) chooseCredentials(in *corev3.GrpcService_GoogleGrpc, from httpfilter.Origin) error {
	if from.Trusted {
		p, err := parsePlugins(in, from.Bootstrap)
		if err != nil {
			return fmt.Errorf("google_grpc.%w", err)
		}
		s.credentials, s.key = p, s.Target+" "+p.key
		return nil
	}
	if from.Bootstrap != nil {
		if allowed := from.Bootstrap.Services[s.Target]; allowed != nil {
			s.credentials, s.key = allowed, s.Target+" "+allowed.Key()
			return nil
		}
	}
	return fmt.Errorf("google_grpc.target_uri: %q is not in allowed_grpc_services of the bootstrap configuration", s.Target)
}

// checkTarget checks that there is a resolver for the target, in the same way as a channel does.
func checkTarget(target string) error {
	if target == "" {
		return errors.New("empty")
	}
	u, err := url.Parse(target)
	if err == nil && u.Scheme != "" && resolver.Get(strings.ToLower(u.Scheme)) != nil {
		return nil
	}
	scheme := resolver.GetDefaultScheme()
	if _, err := url.Parse(scheme + ":///" + target); err != nil {
		return err
	}
	if resolver.Get(scheme) == nil {
		return fmt.Errorf("%q: no resolver for the default scheme %q", target, scheme)
	}
	return nil
}

// maxHeader is the exclusive limit for the length of names and values, in bytes.
const maxHeader = 16384

func (s *Service) addMetadata(in *corev3.HeaderValue) error {
	key, value := in.GetKey(), in.GetValue()
	if len(key) >= maxHeader {
		return fmt.Errorf("key: %d bytes", len(key))
	}
	if err := grpcwire.ValidateKey(key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if key == "host" {
		return errors.New(`key: "host" can't be set`)
	}
	if grpcwire.IsBinary(key) && len(in.GetRawValue()) > 0 {
		value = string(in.GetRawValue())
	}
	if len(value) >= maxHeader {
		return fmt.Errorf("value: %d bytes", len(value))
	}
	if err := grpcwire.ValidateValue(key, value); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if s.Metadata == nil {
		s.Metadata = metadata.MD{}
	}
	s.Metadata.Append(key, value)
	return nil
}

// Context returns a context for an RPC to the service. It derives from ctx, but does not have the
// metadata and credentials of another RPC that ctx may carry.
func (s *Service) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = rpcconfig.WithCredentials(metadata.NewOutgoingContext(ctx, s.Metadata), nil)
	if s.Timeout > 0 {
		return context.WithTimeout(ctx, s.Timeout)
	}
	return context.WithCancel(ctx)
}
