// SPDX-License-Identifier: Apache-2.0

// Package alts implements Application Layer Transport Security, with which services
// on Google Cloud Platform authenticate each other and protect their connections.
//
// A handshaker service outside the program does the handshake, so ALTS works only
// where that service can be trusted: elsewhere every handshake fails with
// [ErrUntrustedPlatform].
//
// An idle ALTS connection keeps its keys and counters, and no buffer.
//
// Experimental: this API may change in a later release.
package alts

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts/internal/authinfo"
	"google.golang.org/grpc/credentials/alts/internal/handshaker"
	"google.golang.org/grpc/credentials/alts/internal/handshaker/service"
)

// ErrUntrustedPlatform is the error that ClientHandshake and ServerHandshake return if
// the machine's firmware does not say that it is one of Google Cloud Platform's: a
// handshaker service found elsewhere could be anyone's. RPCs fail with codes.Unavailable.
var ErrUntrustedPlatform = errors.New("ALTS: untrusted platform. ALTS is only supported on GCP")

// handshakeTimeout bounds a server's handshake.
const handshakeTimeout = 30 * time.Second

// NewClientCreds returns credentials for a client. It copies the options.
//
// If the handshaker service rejects a handshake, for example because the server has none
// of the target service accounts, the channel backs off before it tries again. All
// handshakes through the handshaker service at one address share a connection to it, which
// closes after a minute without use.
func NewClientCreds(opts *ClientOptions) credentials.TransportCredentials {
	c := newCreds(opts.HandshakerServiceAddress)
	c.accounts = slices.Clone(opts.TargetServiceAccounts)
	return c
}

// NewServerCreds returns credentials for a server. The server disconnects a client that
// has not finished its handshake after 30 seconds.
func NewServerCreds(opts *ServerOptions) credentials.TransportCredentials {
	return newCreds(opts.HandshakerServiceAddress)
}

// creds are the credentials of a client or of a server. Only name changes after newCreds and
// NewClientCreds.
type creds struct {
	service  string   // the handshaker service's address
	accounts []string // the service accounts that a server may have; if empty, it may have any
	name     string   // set by OverrideServerName
	env      *environment
}

func newCreds(serviceAddress string) *creds {
	return &creds{service: cmp.Or(serviceAddress, defaultService), env: processEnvironment()}
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *creds) ClientHandshake(ctx context.Context, authority string, rawConn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.handshake(ctx, rawConn, func(cfg handshaker.Config) (net.Conn, *authinfo.Info, error) {
		cfg.TargetName = authority
		cfg.TargetServiceAccounts = c.accounts
		cfg.Slots = c.env.clientSlots
		return handshaker.Client(ctx, rawConn, cfg)
	})
}

// ServerHandshake implements credentials.TransportCredentials.
func (c *creds) ServerHandshake(rawConn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	return c.handshake(ctx, rawConn, func(cfg handshaker.Config) (net.Conn, *authinfo.Info, error) {
		cfg.Slots = c.env.serverSlots
		return handshaker.Server(ctx, rawConn, cfg)
	})
}

// handshake closes rawConn on every error.
func (c *creds) handshake(ctx context.Context, rawConn net.Conn, run func(handshaker.Config) (net.Conn, *authinfo.Info, error)) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.tryHandshake(ctx, run)
	if err != nil {
		_ = rawConn.Close() // the error that counts is err
		return nil, nil, err
	}
	return conn, info, nil
}

func (c *creds) tryHandshake(ctx context.Context, run func(handshaker.Config) (net.Conn, *authinfo.Info, error)) (net.Conn, *authinfo.Info, error) {
	if !c.env.trusted {
		return nil, nil, ErrUntrustedPlatform
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	cc, release, err := service.Acquire(c.service)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	return run(handshaker.Config{Service: cc, MaxRecord: c.env.maxRecord, LowWater: c.env.lowWater})
}

// Info implements credentials.TransportCredentials.
func (c *creds) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "alts", SecurityVersion: "1.0", ServerName: c.name}
}

// Clone implements credentials.TransportCredentials.
func (c *creds) Clone() credentials.TransportCredentials {
	clone := *c
	clone.accounts = slices.Clone(c.accounts)
	return &clone
}

// OverrideServerName implements credentials.TransportCredentials. Only Info uses the name:
// it is the target service accounts that say who a server must be.
func (c *creds) OverrideServerName(name string) error {
	c.name = name
	return nil
}
