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

// Register makes b the builder of its name, in place of an earlier one. Names are
// compared by letter case, unless the environment variable
// GRPC_GO_EXPERIMENTAL_CASE_SENSITIVE_BALANCER_REGISTRIES is "false". It is meant for
// init functions, and safe elsewhere.
func Register(b Builder) {
	builders.register(b)
}

// Get returns the builder of a name, nil when none was registered.
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
