// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os/exec"
	"strconv"

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
	// client runs cases against a server, all if there are none, and returns how they went.
	client func(context.Context, *workshop, target) ([]result, error)
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
	out := row{name: l.name}
	t, err := l.target(w)
	if err != nil {
		return out.failedWith(err)
	}
	s, err := startServer(ctx, w.ourServer(ctx, w.ours.Server, t), t)
	if err != nil {
		return out.failedWith(err)
	}
	out.results, err = l.peer.client(ctx, w, t)
	return out.failedWith(err, s.stop())
}

// theirServer runs our cases against the peer's server.
func theirServer(ctx context.Context, w *workshop, l leg) row {
	out := row{name: l.name, without: l.peer.without}
	t, err := l.target(w)
	if err != nil {
		return out.failedWith(err)
	}
	s, err := startServer(ctx, l.peer.server(ctx, w, t), t)
	if err != nil {
		return out.failedWith(err)
	}
	out.results, err = w.ourClient(ctx, t, l.peer.without)
	return out.failedWith(err, s.stop())
}
