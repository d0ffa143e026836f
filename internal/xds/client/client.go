// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/internal/xds/bootstrap"
)

// Config is what a Client is made of.
type Config struct {
	// Bootstrap says which control planes there are.
	Bootstrap *bootstrap.Config
	// Dial connects to a control plane. It must not wait for the connection. An error is one of
	// configuration; the client tries again after a pause.
	Dial func(*bootstrap.Server) (Transport, error)
	// Metrics may be nil.
	Metrics Metrics
	// Logger may be nil.
	Logger grpclog.DepthLoggerV2

	// DataErrors says that errors in data are handled as A88 has it.
	DataErrors bool
	// ResourceTimeout is how long a resource may take to come (A57), 15 s if it is 0. Twice as
	// long where the server's feature says so (A88).
	ResourceTimeout time.Duration
	// Backoff returns the pause after so many failures in a row, 0 for the first. Nil means that
	// of connections.
	Backoff func(failures int) time.Duration
}

// Metrics are told what A78 counts. Servers are named by their URI, types by their URL.
type Metrics interface {
	// Updates counts resources in a response that were valid, and that were not.
	Updates(server, typeURL string, valid, invalid int)
	// ServerFailure counts the times that a server that worked stopped to.
	ServerFailure(server string)
}

// Client is an xDS client. Its methods are safe for concurrent use.
type Client struct {
	config    Config
	node      *corev3.Node
	callbacks serializer.Serializer

	mu          sync.Mutex
	closed      bool
	authorities map[authorityKey]*authority
	servers     map[string]*server // by Server.Key
	running     sync.WaitGroup     // servers' goroutines
}

// New returns a Client that has no connection until there is something to watch. Close ends it.
func New(c Config) *Client {
	if c.ResourceTimeout == 0 {
		c.ResourceTimeout = 15 * time.Second
	}
	if c.Backoff == nil {
		c.Backoff = connectionBackoff
	}
	return &Client{
		config: c, node: c.Bootstrap.Node(),
		authorities: make(map[authorityKey]*authority), servers: make(map[string]*server),
	}
}

// Bootstrap returns the configuration.
func (c *Client) Bootstrap() *bootstrap.Config { return c.config.Bootstrap }

// ErrClosed is what watchers get after Close.
var ErrClosed = errors.New("the xDS client is closed")

// Close ends all streams and watches. Watchers are not called any more when it returns, but for
// a call that is under way. A watcher must not call it.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	for _, a := range c.authorities {
		for _, e := range a.entries() {
			for w := range e.watches {
				w.gone.Store(true)
			}
			e.stopTimer()
		}
		a.closeLocked()
	}
	clear(c.authorities)
	for _, s := range c.servers {
		s.stopLocked()
	}
	clear(c.servers)
	c.mu.Unlock()
	c.callbacks.Close()
	c.running.Wait()
}

// watch is a Watcher without its type.
type watch struct {
	changed func(any, error)
	ambient func(error)
	gone    atomic.Bool
}

// tell has a watch hear of something, in order.
func (c *Client) tell(w *watch, f func()) {
	c.callbacks.Go(func() {
		if !w.gone.Load() {
			f()
		}
	})
}

// drained waits until all watchers have heard what there was to hear, or ctx ends.
func (c *Client) drained(ctx context.Context) {
	done := make(chan struct{})
	if !c.callbacks.Go(func() { close(done) }) {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// watch starts one.
func (c *Client) watch(k kind, name string, w *watch) (cancel func()) {
	fail := func(err error) func() {
		c.tell(w, func() { w.changed(nil, err) })
		return func() { w.gone.Store(true) }
	}
	key, name, err := parseName(name)
	if err != nil {
		return fail(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fail(ErrClosed)
	}
	a, err := c.authorityLocked(key)
	if err != nil {
		return fail(err)
	}
	e := a.entryLocked(k, name)
	e.watches[w] = struct{}{}
	e.greet(w)
	a.failOverLocked()
	return func() { c.unwatch(e, w) }
}

func (c *Client) unwatch(e *entry, w *watch) {
	if w.gone.Swap(true) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(e.watches, w)
	if len(e.watches) == 0 && !c.closed {
		e.authority.dropLocked(e)
	}
}

// authorityLocked returns an authority, which it makes if it has to.
func (c *Client) authorityLocked(key authorityKey) (*authority, error) {
	if a, ok := c.authorities[key]; ok {
		return a, nil
	}
	list := c.config.Bootstrap.Servers
	if key.federated {
		if list = c.config.Bootstrap.AuthorityServers(key.name); list == nil {
			return nil, fmt.Errorf("authority %q is not in the bootstrap configuration", key.name)
		}
	}
	a := &authority{client: c, key: key, list: list, resources: make(map[string]map[string]*entry)}
	c.authorities[key] = a
	a.openLocked()
	return a, nil
}

// logf is for what operators want to know; format names the thing it is about.
func (c *Client) logf(format string, args ...any) {
	if c.config.Logger != nil {
		c.config.Logger.InfoDepth(1, fmt.Sprintf(format, args...))
	}
}

func (c *Client) warnf(format string, args ...any) {
	if c.config.Logger != nil {
		c.config.Logger.WarningDepth(1, fmt.Sprintf(format, args...))
	}
}
