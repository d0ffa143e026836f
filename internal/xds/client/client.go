// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/internal/xds/bootstrap"
)

// New returns a Client. It connects to a control plane only when there is something to watch.
// The caller must call Close.
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

// Bootstrap returns the bootstrap configuration.
func (c *Client) Bootstrap() *bootstrap.Config { return c.config.Bootstrap }

// errClosed is the error that watchers may get if they begin to watch while Close is called. After Close they are told
// nothing.
var errClosed = errors.New("the xDS client is closed")

// Close ends all streams and watches. After it has returned no call of a watcher begins, but
// one that has begun may still run. A watcher must not call Close.
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

// watch starts a watch.
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
		return fail(errClosed)
	}
	a, err := c.authorityLocked(key)
	if err != nil {
		return fail(err)
	}
	e := a.entryLocked(k, name)
	e.watches[w] = struct{}{}
	e.greet(w, a.isLostLocked())
	a.failOverLocked()
	return func() { c.unwatch(a, e, w) }
}

func (c *Client) unwatch(a *authority, e *entry, w *watch) {
	if w.gone.Swap(true) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(e.watches, w)
	if len(e.watches) == 0 && !c.closed {
		a.dropLocked(e)
	}
}

// authorityLocked returns an authority, which it makes if there is none yet.
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
