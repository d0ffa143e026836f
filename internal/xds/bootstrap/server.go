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

// Server is a control plane, and how to talk to it.
type Server struct {
	// URI is the target of the channel.
	URI string
	// Features are what the server is known to do.
	Features Features

	creds
	key string
}

// Features are the server features that this client knows; it ignores all others.
type Features struct {
	// IgnoreResourceDeletion keeps what the server no longer has (A53).
	IgnoreResourceDeletion bool
	// TrustedXDSServer lets resources choose the authority of RPCs (A81).
	TrustedXDSServer bool
	// FailOnDataErrors drops a resource whose new version is invalid or which is deleted (A88).
	FailOnDataErrors bool
	// ResourceTimerIsTransientError makes a resource that does not come in time an error, and no
	// sign that there is none (A88).
	ResourceTimerIsTransientError bool
}

// credsConfig names a kind of credentials and what it is built from.
type credsConfig struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config,omitempty"`
}

// serverJSON is a server as the bootstrap and the configurations of policies have it.
type serverJSON struct {
	URI          string        `json:"server_uri"`
	ChannelCreds []credsConfig `json:"channel_creds"`
	Features     []string      `json:"server_features,omitempty"`
	CallCreds    []credsConfig `json:"call_creds,omitempty"`
}

// Key is the same for two servers if and only if one connection can serve for both.
func (s *Server) Key() string { return s.key }

// String is for logs; it shows no configuration of credentials.
func (s *Server) String() string { return plainURI(s.URI) + " (" + s.channel.Type + ")" }

// plainURI leaves out a password: it is for messages.
func plainURI(uri string) string {
	scheme, rest, ok := strings.Cut(uri, "://")
	authority, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if !ok || at < 0 {
		return uri
	}
	return scheme + "://" + authority[at+1:] + "/" + path
}

// MarshalJSON returns the server as a bootstrap file has it, with the credentials that were
// chosen and the features that are known.
func (s *Server) MarshalJSON() ([]byte, error) { return []byte(s.key), nil }

// creds are those of connections to a server, by their configurations.
type creds struct {
	channel credsConfig
	calls   []credsConfig
}

// Credentials makes those of a connection. The function is called when it is closed.
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

// parseServer reads one server. The first kind of channel credentials that is known counts, and
// of the call credentials all that are known.
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
	_, _, done, err := s.Credentials() // is what they are built from valid?
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", in.URI, err)
	}
	done()
	return s, nil
}

// choose takes what is known. It returns false without channel credentials.
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

// read returns the known ones among names, in order.
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
