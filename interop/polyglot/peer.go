// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os/exec"

	"google.golang.org/grpc/interop/testcerts"
)

// peer is another implementation of gRPC.
type peer struct {
	name string
	// tools are the programs that are needed to build and run the peer.
	tools []string
	build func(context.Context, *workshop) error
	// server returns the command of a server at the target. It is nil if the peer has no server.
	server func(context.Context, *workshop, target) *exec.Cmd
	// client runs the cases in only against a server, or all cases if only is empty, and returns
	// their results.
	client func(ctx context.Context, w *workshop, t target, only []string) ([]result, error)
	// load makes calls for some seconds, and returns their outcomes. It is nil if the peer can't
	// do that.
	load func(context.Context, *workshop, target, float64) (outcomes, error)
	// certs returns the peer's own certificates. If it is nil, the workshop's are used.
	certs func(*workshop) (certificates, error)
	// without has the cases that the peer's server does not support, and why.
	without map[string]string
}

// leg is one run: cases, or load, between a client and a server.
type leg struct {
	name   string
	peer   *peer
	secure bool
	do     func(context.Context, *workshop, leg) row
}

func (l leg) run(ctx context.Context, w *workshop) row { return l.do(ctx, w, l) }

// target returns an address for a server of the leg.
func (l leg) target(w *workshop) (target, error) {
	port, err := freePort()
	if err != nil {
		return target{}, err
	}
	t := target{host: "127.0.0.1", port: port}
	if !l.secure {
		return t, nil
	}
	certs := certificates{w.certs, testcerts.ServerName}
	if l.peer != nil && l.peer.certs != nil {
		if certs, err = l.peer.certs(w); err != nil {
			return target{}, err
		}
	}
	t.certs = &certs
	return t, nil
}

// serving starts a server, runs a client against it, and stops the server.
func (l leg) serving(ctx context.Context, w *workshop, server func(target) *exec.Cmd, client func(target) ([]result, error)) ([]result, error) {
	t, err := l.target(w)
	if err != nil {
		return nil, err
	}
	s, err := startServer(ctx, server(t), t)
	if err != nil {
		return nil, err
	}
	results, err := client(t)
	return results, errors.Join(err, s.stop())
}
