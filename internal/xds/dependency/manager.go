// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"sync"

	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

// Watcher is told what a channel goes by.
type Watcher interface {
	// Update brings a Config; or an error, after which the one before must no longer be used. It
	// is called one call at a time, in order, and holds up the next one only.
	Update(*Config, error)
}

// Options are what a Manager is made of.
type Options struct {
	// Listener is the name of the resource to begin with.
	Listener string
	// Authority chooses among virtual hosts.
	Authority string
	// Watcher is told.
	Watcher Watcher
	// Build is for the resolvers of logical DNS clusters.
	Build resolver.BuildOptions
}

// Manager watches what a channel needs to know. Its methods are safe for concurrent use. Close
// ends it.
type Manager struct {
	client  *xdsclient.Client
	options Options
	updates serializer.Serializer

	mu         sync.Mutex
	closed     bool
	dirty      bool   // an update is due
	round      uint64 // counts them
	listener   *watch[*resource.Listener]
	routes     *watch[*resource.RouteConfig] // nil: the listener has its own, or is not there
	clusters   map[string]*clusterWatch
	endpoints  map[string]*watch[*resource.Endpoints]
	names      map[string]*nameWatch
	subscribed map[string]int

	// Of the last update.
	told    bool
	last    *Config
	lastErr string
}

// clusterWatch also keeps what was made of it, for as long as nothing is new in it.
type clusterWatch struct {
	*watch[*resource.Cluster]
	made *Cluster
}

// New returns a Manager that does nothing before Start.
func New(c *xdsclient.Client, o Options) *Manager {
	return &Manager{
		client: c, options: o,
		clusters: make(map[string]*clusterWatch), endpoints: make(map[string]*watch[*resource.Endpoints]),
		names: make(map[string]*nameWatch), subscribed: make(map[string]int),
	}
}

// Start begins to watch. The Watcher hears of everything later, from another goroutine.
func (m *Manager) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listener = startLocked(m, m.client.Listeners, m.options.Listener)
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

// ResolveNow has all names looked up again.
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

// Close ends all watches. No call of the Watcher begins any more; one that is under way goes on.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.listener.stopLocked()
	left := m.dropLocked(m.round + 1)
	m.mu.Unlock()
	m.updates.Close()
	closeAll(left)
}

// touchLocked has an update made.
func (m *Manager) touchLocked() {
	if !m.dirty && !m.closed {
		m.dirty = true
		m.updates.Go(m.update)
	}
}

// update puts together what is known, and tells of it unless something is missing.
func (m *Manager) update() {
	m.mu.Lock()
	m.dirty = false
	if m.closed {
		m.mu.Unlock()
		return
	}
	m.round++
	a := assembly{Manager: m}
	config, err := a.config()
	complete := err != nil || !a.missing
	var left []resolver.Resolver
	if complete {
		left = m.dropLocked(m.round)
	}
	news := complete && m.newsLocked(config, err)
	m.mu.Unlock()

	closeAll(left)
	for _, n := range a.fresh {
		n.start()
	}
	if news {
		m.options.Watcher.Update(config, err)
	}
}

// newsLocked reports whether the Watcher does not know this yet, and notes that it soon will.
func (m *Manager) newsLocked(c *Config, err error) bool {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if m.told && text == m.lastErr && (err != nil || m.last.same(c)) {
		return false
	}
	m.told, m.last, m.lastErr = true, c, text
	return true
}

// dropLocked ends the watches that were not needed in the round, and returns resolvers to close.
func (m *Manager) dropLocked(round uint64) (left []resolver.Resolver) {
	if m.routes != nil && m.routes.round != round {
		m.routes.stopLocked()
		m.routes = nil
	}
	for name, w := range m.clusters {
		if w.round != round {
			w.stopLocked()
			delete(m.clusters, name)
		}
	}
	for name, w := range m.endpoints {
		if w.round != round {
			w.stopLocked()
			delete(m.endpoints, name)
		}
	}
	for name, n := range m.names {
		if n.round != round {
			if r := n.stopLocked(); r != nil {
				left = append(left, r)
			}
			delete(m.names, name)
		}
	}
	return left
}

func closeAll(list []resolver.Resolver) {
	for _, r := range list {
		r.Close()
	}
}
