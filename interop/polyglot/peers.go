// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os/exec"

	"google.golang.org/grpc/interop/internal/programs"
)

// peers are the implementations, in the order in which they run.
var peers = []*peer{javaPeer, okhttpPeer, pythonPeer, nodePeer, rustPeer, cppPeer}

// legs returns the peer's legs: its client with our server, its server with our client, and load
// from the client of either while the server is restarted.
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
