// SPDX-License-Identifier: Apache-2.0

package certprovider

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Builder makes providers of one kind.
type Builder interface {
	// ParseConfig checks a configuration; which types it takes is the builder's own
	// business, json.RawMessage should be one.
	ParseConfig(config any) (*BuildableConfig, error)
	// Name is what the kind is registered by.
	Name() string
}

// BuildableConfig is a configuration that was checked. Make it with NewBuildableConfig.
type BuildableConfig struct {
	name   string
	config []byte
	start  func(BuildOptions) Provider
}

// NewBuildableConfig returns the configuration of a provider of the builder of this name.
// config stands for the configuration: where it, the name and the options are equal, a
// provider is shared. start makes one.
func NewBuildableConfig(name string, config []byte, start func(BuildOptions) Provider) *BuildableConfig {
	return &BuildableConfig{name: name, config: config, start: start}
}

// Build returns a provider, one that exists if it is for the same thing. Each is to be
// closed by whoever got it; what is shared goes with the last.
func (bc *BuildableConfig) Build(opts BuildOptions) (Provider, error) {
	return inUse.get(bc, opts)
}

// String returns the name and the configuration.
func (bc *BuildableConfig) String() string {
	return fmt.Sprintf("%s:%s", bc.name, bc.config)
}

var builders = struct {
	sync.RWMutex
	byName map[string]Builder
}{byName: make(map[string]Builder)}

// Register makes a builder known by its name, in place of any that had the name before. It
// is meant for init functions.
func Register(b Builder) {
	builders.Lock()
	defer builders.Unlock()
	builders.byName[b.Name()] = b
}

// ParseConfig has the builder of this name check a configuration.
func ParseConfig(name string, config any) (*BuildableConfig, error) {
	builders.RLock()
	b := builders.byName[name]
	builders.RUnlock()
	if b == nil {
		return nil, unregisteredError(name)
	}
	bc, err := b.ParseConfig(config)
	if err != nil {
		return nil, fmt.Errorf("certprovider: configuration of %q: %w", name, err)
	}
	return bc, nil
}

// GetProvider is ParseConfig and Build.
func GetProvider(name string, config any, opts BuildOptions) (Provider, error) {
	bc, err := ParseConfig(name, config)
	if err != nil {
		return nil, err
	}
	return bc.Build(opts)
}

// inUse has all providers that were built and not closed.
var inUse = store{providers: make(map[storeKey]*shared)}

type storeKey struct {
	name, config string
	opts         BuildOptions
}

type store struct {
	mu        sync.Mutex
	providers map[storeKey]*shared
}

// shared is a provider with the number of those that hold it, which the store's lock guards.
type shared struct {
	Provider
	key  storeKey
	refs int
}

func (s *store) get(bc *BuildableConfig, opts BuildOptions) (Provider, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := storeKey{name: bc.name, config: string(bc.config), opts: opts}
	p := s.providers[key]
	if p == nil {
		started := bc.start(opts)
		if started == nil {
			return nil, fmt.Errorf("certprovider: %v could not be built with %+v", bc, opts)
		}
		p = &shared{Provider: started, key: key}
		s.providers[key] = p
	}
	p.refs++
	return &handle{store: s, shared: p}, nil
}

func (s *store) release(p *shared) {
	s.mu.Lock()
	p.refs--
	last := p.refs == 0
	if last {
		delete(s.providers, p.key)
	}
	s.mu.Unlock()
	if last {
		p.Close()
	}
}

// handle is one holder's hold on a shared provider.
type handle struct {
	store  *store
	shared *shared
	closed atomic.Bool
}

func (h *handle) KeyMaterial(ctx context.Context) (*KeyMaterial, error) {
	if h.closed.Load() {
		return nil, errProviderClosed
	}
	return h.shared.KeyMaterial(ctx)
}

func (h *handle) Close() {
	if !h.closed.Swap(true) {
		h.store.release(h.shared)
	}
}

// unregisteredError is the name of a builder that is not there. Readers of configurations for
// several programs leave out what they don't know, and find it out by NotRegistered.
type unregisteredError string

func (e unregisteredError) Error() string {
	return fmt.Sprintf("certprovider: no builder is registered as %q", string(e))
}

// NotRegistered is true.
func (unregisteredError) NotRegistered() bool { return true }
