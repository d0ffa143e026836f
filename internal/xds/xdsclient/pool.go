// SPDX-License-Identifier: Apache-2.0

package xdsclient

import (
	"maps"
	"sync"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/shared"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/stats"
)

var logger = grpclog.Component("xds")

// Options are the options of NewPool.
type Options struct {
	// Bootstrap is the bootstrap configuration. Nil means that the environment says where it is.
	Bootstrap *bootstrap.Config
	Features  resource.Features
	Filters   *httpfilter.Registry
	// Client has further configuration for Clients. The Pool sets its fields Bootstrap, Dial,
	// Metrics and Logger.
	Client client.Config
}

// Pool is a set of shared Clients, which have names. It is safe for concurrent use.
type Pool struct {
	options  Options
	channels shared.Values[string, *transport] // by bootstrap.Server.Key

	mu       sync.Mutex        // not held while credentials are made or a bootstrap file is read
	fallback *bootstrap.Config // for use if the environment has none
	last     *bootstrap.Config // the last that could be read
	clients  map[string]*pooled
}

// NewPool returns an empty Pool.
func NewPool(o Options) *Pool {
	return &Pool{options: o, clients: make(map[string]*pooled)}
}

// Default returns the Pool of the process, which the environment configures.
var Default = sync.OnceValue(func() *Pool { return NewPoolOf(nil) })

// ParseBootstrap parses a bootstrap configuration. It supports the features that the environment
// has enabled.
func ParseBootstrap(text []byte) (*bootstrap.Config, error) {
	return bootstrap.Parse(text, bootstrap.Options{CallCreds: envconfig.XDSCallCreds, Services: envconfig.XDSExtProcOnClient})
}

// NewPoolOf returns a Pool with a bootstrap configuration; nil means that of the environment.
// The environment configures the rest.
func NewPoolOf(b *bootstrap.Config) *Pool {
	return NewPool(Options{
		Bootstrap: b, Features: Features(), Filters: Filters(), Client: client.Config{DataErrors: envconfig.XDSDataErrorHandling},
	})
}

// pooled is a Client with the number of its users. The Pool's mu guards users.
type pooled struct {
	client  *Client
	metrics *metrics
	users   int
}

// SetFallback sets the bootstrap configuration to use if the environment has none, as package
// googledirectpath does on Google's platform. While there are Clients it does not replace a
// fallback that is set already.
func (p *Pool) SetFallback(b *bootstrap.Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.clients) == 0 || p.fallback == nil {
		p.fallback = b
	}
}

// bootstrap returns the bootstrap configuration to use. Reading it calls code of the program, such as that of channel
// credentials.
func (p *Pool) bootstrap() (*bootstrap.Config, error) {
	if p.options.Bootstrap != nil {
		return p.options.Bootstrap, nil
	}
	where := bootstrap.Options{
		File: envconfig.XDSBootstrapFile, Text: envconfig.XDSBootstrapConfig,
		CallCreds: envconfig.XDSCallCreds, Services: envconfig.XDSExtProcOnClient,
	}
	p.mu.Lock()
	fallback := p.fallback
	p.mu.Unlock()
	if where.File == "" && where.Text == "" && fallback != nil {
		return fallback, nil
	}
	b, err := bootstrap.Read(where)
	p.mu.Lock()
	if err == nil {
		p.last = b
	}
	last := p.last
	p.mu.Unlock()
	if err != nil && last != nil { // the file is being written, or can't be opened for the moment
		logger.Warningf("the last bootstrap configuration that could be read stays: %v", err)
		return last, nil
	}
	return b, err
}

// Client returns the Client with this name: the target of a channel, or ServerName. The Client
// stays open until release is called; release may be called more than once. Until then others,
// and those handlers that are recorders, receive the Client's metrics.
func (p *Pool) Client(name string, handlers []stats.Handler, others ...estats.MetricsRecorder) (c *Client, release func(), err error) {
	u, err := p.use(name)
	if err != nil {
		return nil, nil, err
	}
	stop := u.metrics.add(handlers, others...) // which calls recorders, and so must not hold the lock
	return u.client, sync.OnceFunc(func() {
		stop()
		p.release(name, u)
	}), nil
}

// use returns the Client with this name, which stays open until release is called.
func (p *Pool) use(name string) (u *pooled, err error) {
	if u = p.another(name, nil); u != nil {
		return u, nil
	}
	b, err := p.bootstrap()
	if err != nil {
		return nil, err
	}
	return p.another(name, b), nil
}

// another returns another use of the Client with this name. If there is none, it makes one, or returns nil if b is nil.
func (p *Pool) another(name string, b *bootstrap.Config) *pooled {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.clients[name]
	if u == nil && b == nil {
		return nil
	}
	if u == nil {
		u = p.newClient(name, b)
		p.clients[name] = u
	}
	u.users++
	return u
}

func (p *Pool) newClient(name string, b *bootstrap.Config) *pooled {
	u := &pooled{client: &Client{}, metrics: newMetrics(name)}
	config := p.options.Client
	config.Bootstrap, config.Dial, config.Metrics, config.Logger = b, p.dial, u.metrics, logger
	u.client.types(b, p.options.Features, p.options.Filters)
	u.client.Client = client.New(config)
	u.metrics.client = u.client.Client
	return u
}

func (p *Pool) release(name string, u *pooled) {
	p.mu.Lock()
	u.users--
	last := u.users == 0
	if last {
		delete(p.clients, name)
	}
	p.mu.Unlock()
	if last {
		go u.client.Close() // the caller of release may be a watcher, and a watcher must not call Close
	}
}

// Clients returns the Clients in use by name, for CSDS (A40, A71).
func (p *Pool) Clients() map[string]*Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]*Client, len(p.clients))
	for name, u := range maps.All(p.clients) {
		out[name] = u.client
	}
	return out
}

// dial returns a connection to a server. Clients share the connection.
func (p *Pool) dial(s *bootstrap.Server) (client.Transport, error) {
	t, release, err := p.channels.Use(s.Key(), func() (*transport, func(), error) {
		t, err := dial(s)
		if err != nil {
			return nil, nil, err
		}
		return t, t.Close, nil
	})
	if err != nil {
		return nil, err
	}
	return &lease{transport: t, release: release}, nil
}

// lease is the use of a connection by one Client.
type lease struct {
	*transport
	release func()
}

// Close ends this use of the connection, and closes the connection if it was the last use.
func (l *lease) Close() { l.release() }
