// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"sync"

	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

// Manager watches what a channel needs to know. It is safe for concurrent use. The caller must
// call Close.
type Manager struct {
	sources

	// These fields are about the last call of Watcher.Update.
	told    bool
	last    *Config
	lastErr string
}

// New returns a Manager. It does nothing before Start.
func New(c *xdsclient.Client, o Options) *Manager {
	m := &Manager{sources: sources{
		client: c, options: o,
		clusters: make(map[string]*clusterWatch), endpoints: make(map[string]*watch[*resource.Endpoints]),
		names: make(map[string]*nameWatch), subscribed: make(map[string]int),
	}}
	m.agenda.update = m.update
	return m
}

// Start begins to watch. The Watcher is called later, by another goroutine.
func (m *Manager) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listener = startLocked(&m.agenda, m.client.Client, m.client.Listeners, m.options.Listener)
}

// Subscribe implements Subscriber.
func (m *Manager) Subscribe(cluster string) (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscribed[cluster]++
	m.touchLocked()
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.subscribed[cluster]--; m.subscribed[cluster] == 0 {
			delete(m.subscribed, cluster)
			m.touchLocked()
		}
	})
}

// ResolveNow looks up all names again.
func (m *Manager) ResolveNow(o resolver.ResolveNowOptions) {
	m.mu.Lock()
	var list []resolver.Resolver
	for _, n := range m.names {
		if n.resolver != nil {
			list = append(list, n.resolver)
		}
	}
	m.mu.Unlock()
	for _, r := range list {
		r.ResolveNow(o)
	}
}

// Close ends all watches. After it no call of the Watcher begins, but one that has begun may
// still run.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.listener.stopLocked()
	m.round++
	left := m.dropLocked(true)
	m.mu.Unlock()
	m.updates.Close()
	closeAll(left)
}

// update assembles what is known, and calls the Watcher if it is complete and new.
func (m *Manager) update() {
	m.mu.Lock()
	m.dirty = false
	if m.closed {
		m.mu.Unlock()
		return
	}
	m.round++
	a := assembly{sources: &m.sources}
	config, err := a.config()
	left := m.dropLocked(!a.missing)
	if err != nil && a.missing {
		config = m.last // the error does not wait for what is missing of a subscribed cluster
	}
	news := (err != nil || !a.missing) && m.newsLocked(config, err)
	m.mu.Unlock()

	closeAll(left)
	for _, n := range a.fresh {
		n.start(m.options.Build)
	}
	if news {
		m.options.Watcher.Update(config, err)
	}
}

// newsLocked reports whether a result differs from the one before, and records it.
func (m *Manager) newsLocked(c *Config, err error) bool {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if m.told && text == m.lastErr && (c == m.last || m.last.same(c)) {
		return false
	}
	m.told, m.last, m.lastErr = true, c, text
	return true
}

func closeAll(list []resolver.Resolver) {
	for _, r := range list {
		r.Close()
	}
}
