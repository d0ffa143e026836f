// SPDX-License-Identifier: Apache-2.0

package filters

import (
	"errors"
	"fmt"
	"net/http"

	statefulv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/protobuf/proto"
)

// Session sends the RPCs of a session to the server that handled the first one; a cookie names
// that server (A55, A60). It works only above policy override_host, which uses call.Info.Hosts
// and stores what it has picked.
type Session struct{}

const (
	sessionType      = "envoy.extensions.filters.http.stateful_session.v3.StatefulSession"
	sessionRouteType = "envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute"
	cookieType       = "envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState"
)

// Types implements Kind.
func (Session) Types() []string { return []string{sessionType, sessionRouteType} }

// Sides implements Kind.
func (Session) Sides() httpfilter.Side { return httpfilter.Client }

// Terminal implements Kind.
func (Session) Terminal() bool { return false }

// Parse implements Kind. The Config is a *SessionConfig.
func (Session) Parse(m httpfilter.Message) (httpfilter.Config, error) {
	var in statefulv3.StatefulSession
	if err := m.Unmarshal(&in); err != nil {
		return nil, err
	}
	return parseSession(&in)
}

// ParseOverride implements Kind.
func (Session) ParseOverride(m httpfilter.Message) (httpfilter.Config, error) {
	var in statefulv3.StatefulSessionPerRoute
	if err := m.Unmarshal(&in); err != nil {
		return nil, err
	}
	if in.GetStatefulSession() == nil { // the filter is disabled, or the message is empty
		return &SessionConfig{}, nil
	}
	return parseSession(in.GetStatefulSession())
}

func parseSession(in *statefulv3.StatefulSession) (httpfilter.Config, error) {
	if in.GetSessionState() == nil {
		return &SessionConfig{}, nil
	}
	state := in.GetSessionState().GetTypedConfig()
	if string(state.MessageName()) != cookieType {
		return nil, fmt.Errorf("session_state.typed_config: type %q is not supported", state.GetTypeUrl())
	}
	var cookie cookiev3.CookieBasedSessionState
	if err := proto.Unmarshal(state.GetValue(), &cookie); err != nil {
		return nil, fmt.Errorf("session_state.typed_config: %w", err)
	}
	c := cookie.GetCookie()
	out := &SessionConfig{Cookie: c.GetName(), Path: c.GetPath()}
	if out.Cookie == "" {
		return nil, errors.New("session_state.typed_config.cookie.name: empty")
	}
	if (&http.Cookie{Name: out.Cookie}).String() == "" {
		return nil, fmt.Errorf("session_state.typed_config.cookie.name: %q is not a name of cookies (RFC 6265)", out.Cookie)
	}
	if out.Path == "" {
		out.Path = "/"
	}
	if ttl := c.GetTtl(); ttl != nil {
		if err := ttl.CheckValid(); err != nil {
			return nil, fmt.Errorf("session_state.typed_config.cookie.ttl: %w", err)
		}
		if out.TTL = ttl.AsDuration(); out.TTL < 0 {
			return nil, fmt.Errorf("session_state.typed_config.cookie.ttl: %v is negative", out.TTL)
		}
	}
	return out, nil
}

// Client implements ClientKind.
func (Session) Client(i httpfilter.Instance) rpcconfig.Interceptor {
	c, ok := i.Effective().(*SessionConfig)
	if !ok || c.Cookie == "" {
		return nil
	}
	return &affinity{c}
}
