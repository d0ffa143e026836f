// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// Plugins are the plugins that all channels and servers have. They come before those that
// options add.
type Plugins struct {
	Clients []Client
	Servers Servers

	// ClientHandlers and ServerHandlers are told the same events as the stats handlers that
	// options add.
	ClientHandlers, ServerHandlers []stats.Handler
}

var (
	globalMu sync.Mutex // of writers
	global   atomic.Pointer[Plugins]
)

// Global returns the plugins of every channel and server that is made from now on. The
// caller must not change them.
func Global() Plugins {
	if p := global.Load(); p != nil {
		return *p
	}
	return Plugins{}
}

// AddGlobal adds the plugin c to every channel, and the plugin s to every server, that is made
// before remove is called. Both must be comparable.
func AddGlobal(c Client, s Server) (remove func()) {
	change(func(p *Plugins) {
		p.Clients = append(slices.Clone(p.Clients), c)
		p.Servers = append(slices.Clone(p.Servers), s)
	})
	return sync.OnceFunc(func() {
		change(func(p *Plugins) {
			p.Clients = slices.DeleteFunc(slices.Clone(p.Clients), func(other Client) bool { return other == c })
			p.Servers = slices.DeleteFunc(slices.Clone(p.Servers), func(other Server) bool { return other == s })
		})
	})
}

// AddHandlers adds the handler client to every channel, and the handler server to every server,
// that is made from now on.
func AddHandlers(client, server stats.Handler) {
	change(func(p *Plugins) {
		p.ClientHandlers = append(slices.Clone(p.ClientHandlers), client)
		p.ServerHandlers = append(slices.Clone(p.ServerHandlers), server)
	})
}

// Overseer is a stats handler of a server that is told of the end of each RPC that it has tagged. RPCs for which there is
// no Begin, as nobody serves their method or they end before, have no End either.
type Overseer interface {
	// RPCOver is called once at the end of an RPC without End.
	RPCOver(ctx context.Context)
}

func change(f func(*Plugins)) {
	globalMu.Lock()
	defer globalMu.Unlock()
	p := Global()
	f(&p)
	global.Store(&p)
}
