// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os/exec"
	"strconv"

	"google.golang.org/grpc/interop/internal/programs"
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

// certificates are what a server shows and a client trusts.
type certificates struct {
	testcerts.Files
	serverName string
}

// target is a server's address.
type target struct {
	host string
	port int
	// certs are nil in plain text.
	certs *certificates
}

func (t target) addr() string { return t.host + ":" + strconv.Itoa(t.port) }

// peers are the implementations, in the order they run in.
var peers = []*peer{javaPeer, okhttpPeer, pythonPeer, nodePeer, rustPeer, cppPeer}

// legs are the peer's runs: its client with our server, its server with our client, and
// either side's load while a side is started anew.
func (p *peer) legs() []leg {
	var legs []leg
	for _, secure := range []bool{false, true} {
		link := "plain"
		if secure {
			link = "tls"
		}
		if p.client != nil {
			legs = append(legs, leg{p.name + ">ours " + link, p, secure, theirClient})
		}
		if p.server != nil {
			legs = append(legs, leg{"ours>" + p.name + " " + link, p, secure, theirServer})
		}
	}
	if p.load != nil {
		legs = append(legs, leg{p.name + ">ours restart", p, false, restartUnderTheirLoad})
	}
	if p.server != nil {
		legs = append(legs, leg{"ours>" + p.name + " restart", p, false, restartUnderOurLoad})
	}
	return legs
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

// theirClient runs the peer's cases against our server.
func theirClient(ctx context.Context, w *workshop, l leg) row {
	return w.twice(row{name: l.name}, func(p programs.Programs, only []string) ([]result, error) {
		return l.serving(ctx, w, func(t target) *exec.Cmd { return w.ourServer(ctx, p.Server, t) }, func(t target) ([]result, error) {
			return l.peer.client(ctx, w, t, only)
		})
	})
}

// theirServer runs our cases against the peer's server.
func theirServer(ctx context.Context, w *workshop, l leg) row {
	return w.twice(row{name: l.name, without: l.peer.without}, func(p programs.Programs, only []string) ([]result, error) {
		return l.serving(ctx, w, func(t target) *exec.Cmd { return l.peer.server(ctx, w, t) }, func(t target) ([]result, error) {
			return w.ourClient(ctx, p.Client, t, l.peer.without, only)
		})
	})
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
