// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"strings"
	"sync"

	"google.golang.org/grpc/internal/envconfig"
)

// registry maps names to builders.
type registry struct {
	builders      sync.Map // string -> Builder
	caseSensitive bool
}

var builders = registry{caseSensitive: envconfig.CaseSensitiveBalancerRegistries}

// Register registers b under b.Name(). It replaces a builder of the same name. Names are
// case-sensitive, unless the environment variable
// GRPC_GO_EXPERIMENTAL_CASE_SENSITIVE_BALANCER_REGISTRIES is "false". Register is meant for init
// functions, but is safe for concurrent use.
func Register(b Builder) {
	builders.register(b)
}

// Get returns the builder that is registered under name, or nil if there is none.
func Get(name string) Builder {
	return builders.get(name)
}

func (r *registry) register(b Builder) {
	r.builders.Store(r.key(b.Name()), b)
}

func (r *registry) get(name string) Builder {
	b, ok := r.builders.Load(r.key(name))
	if !ok {
		return nil
	}
	return b.(Builder)
}

func (r *registry) key(name string) string {
	if r.caseSensitive {
		return name
	}
	return strings.ToLower(name)
}
