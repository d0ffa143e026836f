// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/connectproxy"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
)

// ConnectError says what kept a connection from coming up.
type ConnectError struct {
	Step string // what went wrong: one of the texts below
	Err  error
	// Permanent says that the same attempt would fail again.
	Permanent bool
}

func (e *ConnectError) Error() string {
	text := e.Step
	if e.Err != nil {
		text = fmt.Sprintf("%s: %v", e.Step, e.Err)
	}
	return fmt.Sprintf("connection error: desc = %q", text)
}
func (e *ConnectError) Unwrap() error { return e.Err }

// The steps of a connection. Programs look for these texts, which are those of
// the published module.
const (
	stepDial      = "transport: Error while dialing"
	stepDialOnce  = "transport: error while dialing" // with FailOnNonTempDialError
	stepHandshake = "transport: authentication handshake failed"
	stepPreface   = "error reading server preface"
	stepSecure    = "transport: cannot send secure credentials on an insecure connection"
)

// Connect dials addr, runs the handshake of the credentials and waits until the peer has shown that it
// speaks HTTP/2. ctx bounds all of that, and has no effect afterwards. authority is what calls are
// addressed to, and the name that the peer must prove, unless the address names another.
func Connect(ctx context.Context, addr resolver.Address, authority string, p ConnectParams) (*Client, error) {
	cfg := p.Config
	if addr.ServerName != "" {
		authority = addr.ServerName
	}
	ctx = context.WithValue(ctx, ctxkey.ClientHandshakeInfo{}, credentials.ClientHandshakeInfo{Attributes: addr.Attributes})
	nc, err := dialProxied(ctx, addr, cfg)
	if err != nil {
		step := stepDial
		if cfg.FailOnNonTemp {
			step = stepDialOnce
		}
		return nil, &ConnectError{Step: step, Err: err, Permanent: !temporary(err)}
	}
	cfg.setSocketOptions(nc, cfg.h2.Keepalive.Timeout, cfg.h2.Keepalive.Timeout > 0 && cfg.Keepalive.Timeout > 0)
	c := &Client{cfg: cfg, events: p.Events, authority: authority}
	if p.Watch {
		c.events = &watchedClient{ClientEvents: p.Events}
	}
	c.peer = &peer.Peer{Addr: nc.RemoteAddr(), LocalAddr: nc.LocalAddr()}
	creds := cfg.Creds
	if p.Creds != nil {
		creds = p.Creds
	}
	if creds != nil {
		c.secure = creds.Info().SecurityProtocol == "tls"
		if nc, err = c.handshake(ctx, creds, addr, nc); err != nil {
			return nil, err
		}
	}
	// Without an AuthInfo it is the per-RPC credentials' own business to look at the connection.
	if p.Secret && c.peer.AuthInfo != nil && credentials.CheckSecurityLevel(c.peer.AuthInfo, credentials.PrivacyAndIntegrity) != nil {
		nc.Close()
		return nil, &ConnectError{Step: stepSecure}
	}
	if err := newClient(ctx, nc, c); err != nil {
		if below, ok := errors.AsType[*h2.IOError](err); ok && below.Op == "read" {
			err = below.Err // the step says already that it was a read
		} else if rule, ok := errors.AsType[*h2.ConnError](err); ok && !rule.Remote {
			err = fmt.Errorf("http2: %s", rule.Reason)
		}
		return nil, &ConnectError{Step: stepPreface, Err: err}
	}
	return c, nil
}

// dialProxied dials through the proxy of the address (gRFC A86), if it has one.
func dialProxied(ctx context.Context, addr resolver.Address, cfg *ClientConfig) (net.Conn, error) {
	if proxy := connectproxy.Of(addr); proxy != "" {
		return ProxyDialer(&url.URL{Scheme: "http", Host: proxy}, cfg.UserAgent)(ctx, addr.Addr)
	}
	return dial(ctx, addr, cfg.Dial)
}

// ConnectParams has the configuration that all connections of a channel share, and what is particular to
// this one.
type ConnectParams struct {
	Config *ClientConfig
	Events ClientEvents
	// Watch makes the connection count what it carries: see ConnStats.
	Watch bool
	// Creds are used in place of the Config's if they are not nil.
	Creds credentials.TransportCredentials
	// Secret makes Connect give up a connection that is not private: each RPC would send on it what nobody
	// else may see.
	Secret bool
}

// handshakeGrace is how much longer than until its deadline a handshake may take before its connection is closed:
// an error of the deadline says more.
const handshakeGrace = time.Second

func (c *Client) handshake(ctx context.Context, creds credentials.TransportCredentials, addr resolver.Address, raw net.Conn) (net.Conn, error) {
	d, bounded := ctx.Deadline()
	if bounded {
		// Credentials may set deadlines of their own, and some connections take one that has no effect.
		left := min(time.Until(d), math.MaxInt64-handshakeGrace)
		late := time.AfterFunc(left+handshakeGrace, func() { raw.Close() })
		defer late.Stop()
		bounded = raw.SetDeadline(d) == nil // some, such as the channels of SSH, have no deadlines
	}
	defer context.AfterFunc(ctx, func() { // credentials may take no notice of ctx while they wait for the peer
		if !bounded || ctx.Err() == context.Canceled {
			raw.Close()
		}
	})()
	failed := true // also if the credentials end the goroutine
	defer func() {
		if failed {
			raw.Close()
		}
	}()
	nc, auth, err := creds.ClientHandshake(ctx, c.authority, raw)
	if err != nil {
		return nil, &ConnectError{Step: stepHandshake, Err: err, Permanent: !temporary(err)}
	}
	_ = raw.SetDeadline(time.Time{}) // clear the handshake's deadline; an error means that the connection has none
	c.peer.AuthInfo = auth
	failed = false
	return nc, nil
}

// temporary reports whether err says that it may pass. An error that says nothing counts as temporary.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	if errors.As(err, &t) {
		return t.Temporary()
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) {
		return timeout.Timeout()
	}
	return true
}
