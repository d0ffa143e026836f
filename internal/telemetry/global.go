// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// Plugins are those that channels and servers have without an option for it. They come
// before those of options.
type Plugins struct {
	Clients []Client
	Servers Servers

	// Handlers of channels and of servers are told what others are that options name.
	ClientHandlers, ServerHandlers []stats.Handler
}

var (
	globalMu sync.Mutex // of writers
	global   atomic.Pointer[Plugins]
)

// Global returns the plugins of every channel and server that is made from now on. Do
// not change them.
func Global() Plugins {
	if p := global.Load(); p != nil {
		return *p
	}
	return Plugins{}
}

// AddGlobal gives every channel that is made from now on the plugin c, and every server
// s, until remove is called. Both must be comparable.
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

// AddHandlers gives every channel that is made from now on the handler client, and every
// server the handler server.
func AddHandlers(client, server stats.Handler) {
	change(func(p *Plugins) {
		p.ClientHandlers = append(slices.Clone(p.ClientHandlers), client)
		p.ServerHandlers = append(slices.Clone(p.ServerHandlers), server)
	})
}

func change(f func(*Plugins)) {
	globalMu.Lock()
	defer globalMu.Unlock()
	p := Global()
	f(&p)
	global.Store(&p)
}
