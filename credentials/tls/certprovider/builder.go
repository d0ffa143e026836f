// SPDX-License-Identifier: Apache-2.0

package certprovider

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/shared"
)

// Builder makes providers of one kind.
type Builder interface {
	// ParseConfig checks a configuration. Each builder decides which types config may
	// have; json.RawMessage should be one of them.
	ParseConfig(config any) (*BuildableConfig, error)
	// Name is the name that the builder is registered by.
	Name() string
}

// BuildableConfig is a configuration that a Builder has checked. NewBuildableConfig makes one.
type BuildableConfig struct {
	name   string
	config []byte
	start  func(BuildOptions) Provider
}

// NewBuildableConfig returns a configuration for the builder with this name. config
// identifies the configuration: Build returns a shared provider if config, name and
// BuildOptions are equal. start makes a provider.
func NewBuildableConfig(name string, config []byte, start func(BuildOptions) Provider) *BuildableConfig {
	return &BuildableConfig{name: name, config: config, start: start}
}

// Build returns a provider. Those with equal name, config and opts share one underlying
// provider. The caller must close the provider that it got; closing the last one closes
// the underlying provider.
func (bc *BuildableConfig) Build(opts BuildOptions) (Provider, error) {
	key := storeKey{name: bc.name, config: string(bc.config), opts: opts}
	p, release, err := inUse.Use(key, func() (Provider, func(), error) {
		p := bc.start(opts)
		if p == nil {
			return nil, nil, fmt.Errorf("certprovider: %v could not be built with %+v", bc, opts)
		}
		return p, p.Close, nil
	})
	if err != nil {
		return nil, err
	}
	return &handle{shared: p, release: release}, nil
}

// String returns the name and the configuration.
func (bc *BuildableConfig) String() string {
	return fmt.Sprintf("%s:%s", bc.name, bc.config)
}

var builders = struct {
	sync.RWMutex
	byName map[string]Builder
}{byName: make(map[string]Builder)}

// Register registers a builder by its name. It replaces a builder that was registered by the
// same name. It is meant for init functions.
func Register(b Builder) {
	name := b.Name()
	builders.Lock()
	defer builders.Unlock()
	builders.byName[name] = b
}

// ParseConfig returns the configuration that the builder with this name makes of config.
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

// GetProvider calls ParseConfig and then Build.
func GetProvider(name string, config any, opts BuildOptions) (Provider, error) {
	bc, err := ParseConfig(name, config)
	if err != nil {
		return nil, err
	}
	return bc.Build(opts)
}

// inUse has all providers that have been built and not yet closed.
var inUse shared.Values[storeKey, Provider]

type storeKey struct {
	name, config string
	opts         BuildOptions
}

// handle is what Build returns: one reference to a shared provider.
type handle struct {
	shared  Provider
	release func()
	closed  atomic.Bool
}

func (h *handle) KeyMaterial(ctx context.Context) (*KeyMaterial, error) {
	if h.closed.Load() {
		return nil, errProviderClosed
	}
	return h.shared.KeyMaterial(ctx)
}

func (h *handle) Close() {
	if !h.closed.Swap(true) {
		h.release()
	}
}

// unregisteredError is the name of a builder that is not registered. Code that reads a
// configuration meant for several programs skips builders that it doesn't know, and recognizes
// them by NotRegistered.
type unregisteredError string

func (e unregisteredError) Error() string {
	return fmt.Sprintf("no certificate provider builder found for %q", string(e))
}

// NotRegistered returns true.
func (unregisteredError) NotRegistered() bool { return true }
