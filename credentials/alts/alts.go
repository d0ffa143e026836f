// SPDX-License-Identifier: Apache-2.0

// Package alts implements Application Layer Transport Security, with which services
// on Google Cloud Platform authenticate each other and protect their connections.
//
// The handshake is done by a handshaker service beside the program, so ALTS works
// only where that service can be trusted: elsewhere every handshake fails with
// [ErrUntrustedPlatform].
//
// An idle ALTS connection keeps its keys and counters, and no buffer.
//
// Experimental: this API may change in a later release.
package alts

import (
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

// ErrUntrustedPlatform is the error of ClientHandshake and ServerHandshake where the
// program doesn't run on Google Cloud Platform, as the machine's firmware tells: a
// handshaker service found there could be anyone's. RPCs fail with codes.Unavailable.
var ErrUntrustedPlatform = errors.New("ALTS: untrusted platform. ALTS is only supported on GCP")

// handshakeTimeout bounds a server's handshake.
const handshakeTimeout = 30 * time.Second

// NewClientCreds returns credentials for a client. The options are copied.
//
// A handshake that the service rejects, as it does if the server has none of the
// target service accounts, is not retried at once: the channel backs off. All
// handshakes with services at the same address share one connection, which closes
// when it was not used for a minute.
func NewClientCreds(opts *ClientOptions) credentials.TransportCredentials {
	c := newCreds(opts.HandshakerServiceAddress)
	c.accounts = slices.Clone(opts.TargetServiceAccounts)
	return c
}

// NewServerCreds returns credentials for a server. A client that has not finished
// its handshake after 30 seconds is disconnected.
func NewServerCreds(opts *ServerOptions) credentials.TransportCredentials {
	return newCreds(opts.HandshakerServiceAddress)
}

// creds are the credentials of either side. Only name ever changes.
type creds struct {
	service  string   // the handshaker service's address
	accounts []string // that a server may have; empty: any
	name     string   // from OverrideServerName
	env      *environment
}

func newCreds(serviceAddress string) *creds {
	return &creds{service: serviceAddress, env: processEnvironment()}
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

// OverrideServerName implements credentials.TransportCredentials. The name shows in
// Info; who a server must be is said by the target service accounts.
func (c *creds) OverrideServerName(name string) error {
	c.name = name
	return nil
}
