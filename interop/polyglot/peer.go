// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os/exec"

	"google.golang.org/grpc/interop/testcerts"
)

// peer is another implementation.
type peer struct {
	name string
	// tools are the programs it needs to be built and run.
	tools []string
	build func(context.Context, *workshop) error
	// server makes the command of a server at the target.
	server func(context.Context, *workshop, target) *exec.Cmd
	// client runs cases against a server, all if none are named, and returns how they went.
	client func(ctx context.Context, w *workshop, t target, only []string) ([]result, error)
	// load makes calls for some seconds, and returns how often which outcome was; nil if
	// the peer has nothing for it.
	load func(context.Context, *workshop, target, float64) (outcomes, error)
	// certs are the peer's own, or else those of the workshop are used.
	certs func(*workshop) (certificates, error)
	// without has the cases that its server does not answer as they want, and why.
	without map[string]string
}

// leg is one run.
type leg struct {
	name   string
	peer   *peer
	secure bool
	do     func(context.Context, *workshop, leg) row
}

func (l leg) run(ctx context.Context, w *workshop) row { return l.do(ctx, w, l) }

// target returns where a server of the leg is to listen.
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

// serving starts a server, and runs a client against it.
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
