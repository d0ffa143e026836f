// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/xds/bootstrap"
)

// Server is a control plane and how to connect to it.
type Server struct {
	// URI is the target of the channel to the control plane.
	URI string
	// Features are the server's features.
	Features Features

	creds
	key string
}

// Features are the server features that this client knows. It ignores all others.
type Features struct {
	// IgnoreResourceDeletion makes the client keep resources that the server has deleted (A53).
	IgnoreResourceDeletion bool
	// TrustedXDSServer lets resources of this server rewrite the authority of RPCs (A81).
	TrustedXDSServer bool
	// FailOnDataErrors makes the client stop using a resource if its new version is invalid or
	// it has been deleted (A88).
	FailOnDataErrors bool
	// ResourceTimerIsTransientError makes it a transient error if a resource does not come in
	// time. Otherwise that means that the resource does not exist (A88).
	ResourceTimerIsTransientError bool
}

// credsConfig is a kind of credentials and its configuration.
type credsConfig struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config,omitempty"`
}

// serverJSON is the JSON form of a server, in bootstrap files and in configurations of policies.
type serverJSON struct {
	URI          string        `json:"server_uri"`
	ChannelCreds []credsConfig `json:"channel_creds"`
	Features     []string      `json:"server_features,omitempty"`
	CallCreds    []credsConfig `json:"call_creds,omitempty"`
}

// Key returns a string that is the same for two servers if and only if they can share one
// connection.
func (s *Server) Key() string { return s.key }

// String returns a description for logs. It does not show configurations of credentials.
func (s *Server) String() string { return plainURI(s.URI) + " (" + s.channel.Type + ")" }

// plainURI returns the URI without user name and password, for messages.
func plainURI(uri string) string {
	scheme, rest, ok := strings.Cut(uri, "://")
	authority, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if !ok || at < 0 {
		return uri
	}
	return scheme + "://" + authority[at+1:] + "/" + path
}

// MarshalJSON returns the server in its JSON form. That has only the credentials that were
// chosen and the features that are known.
func (s *Server) MarshalJSON() ([]byte, error) { return []byte(s.key), nil }

// creds are the configurations of the credentials for connections to a server.
type creds struct {
	channel credsConfig
	calls   []credsConfig
}

// Credentials builds the credentials of one connection. The caller must call done when the
// connection is closed.
func (s *creds) Credentials() (channel credentials.Bundle, calls []credentials.PerRPCCredentials, done func(), err error) {
	var closers []func()
	done = func() {
		for _, f := range closers {
			f()
		}
	}
	channel, stop, err := buildChannelCreds(s.channel)
	if err != nil {
		return nil, nil, nil, err
	}
	closers = append(closers, stop)
	for _, c := range s.calls {
		creds, stop, err := buildCallCreds(c)
		if err != nil {
			done()
			return nil, nil, nil, err
		}
		calls, closers = append(calls, creds), append(closers, stop)
	}
	return channel, calls, done, nil
}

func buildChannelCreds(c credsConfig) (credentials.Bundle, func(), error) {
	builder := bootstrap.GetChannelCredentials(c.Type)
	if builder == nil {
		return nil, nil, fmt.Errorf("nothing is registered for channel credentials %q", c.Type)
	}
	bundle, stop, err := builder.Build(c.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("channel credentials %q: %w", c.Type, err)
	}
	return bundle, orNothing(stop), nil
}

func buildCallCreds(c credsConfig) (credentials.PerRPCCredentials, func(), error) {
	builder := bootstrap.GetCallCredentials(c.Type)
	if builder == nil {
		return nil, nil, fmt.Errorf("nothing is registered for call credentials %q", c.Type)
	}
	creds, stop, err := builder.Build(c.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("call credentials %q: %w", c.Type, err)
	}
	return creds, orNothing(stop), nil
}

func orNothing(f func()) func() {
	if f == nil {
		return func() {}
	}
	return f
}

// parseServer parses one server. It takes the first channel credentials of a known kind, and all
// call credentials of known kinds.
func parseServer(text []byte, callCreds bool) (*Server, error) {
	var in serverJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	if in.URI == "" {
		return nil, errors.New("field server_uri is missing or empty")
	}
	s := &Server{URI: in.URI}
	if !callCreds {
		in.CallCreds = nil
	}
	if !s.choose(in.ChannelCreds, in.CallCreds) {
		return nil, fmt.Errorf("field channel_creds of server %q has no credentials of a known type", in.URI)
	}
	names := s.Features.read(in.Features)
	key, err := json.Marshal(serverJSON{
		URI: s.URI, ChannelCreds: []credsConfig{s.channel}, Features: names, CallCreds: s.calls,
	})
	if err != nil {
		return nil, err
	}
	s.key = string(bytes.TrimSpace(key))
	_, _, done, err := s.Credentials() // checks the configurations of the credentials
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", in.URI, err)
	}
	done()
	return s, nil
}

// choose takes over the credentials of known kinds. It returns false if there are no such
// channel credentials.
func (s *creds) choose(channel, calls []credsConfig) bool {
	i := slices.IndexFunc(channel, func(c credsConfig) bool { return bootstrap.GetChannelCredentials(c.Type) != nil })
	if i < 0 {
		return false
	}
	s.channel = channel[i]
	for _, c := range calls {
		if bootstrap.GetCallCredentials(c.Type) != nil {
			s.calls = append(s.calls, c)
		}
	}
	return true
}

// read sets the features in names that are known, and returns their names, sorted.
func (f *Features) read(names []string) []string {
	known := map[string]*bool{
		"ignore_resource_deletion":          &f.IgnoreResourceDeletion,
		"trusted_xds_server":                &f.TrustedXDSServer,
		"fail_on_data_errors":               &f.FailOnDataErrors,
		"resource_timer_is_transient_error": &f.ResourceTimerIsTransientError,
	}
	var found []string
	for _, name := range names {
		if set, ok := known[name]; ok && !*set {
			*set = true
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
