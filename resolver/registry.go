// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"sync"

	"google.golang.org/grpc/internal/resolver/scheme"
)

var registry sync.Map // scheme string -> Builder

// Register registers b under b.Scheme(). It replaces a builder of the same scheme. Schemes are
// case-sensitive. As parsing a target converts its scheme to lower case, a builder whose scheme has
// an upper-case letter is never found. Register is meant for init functions, but is safe for
// concurrent use.
func Register(b Builder) {
	registry.Store(b.Scheme(), b)
}

// Get returns the builder that is registered for a scheme, or nil if there is none.
func Get(scheme string) Builder {
	b, ok := registry.Load(scheme)
	if !ok {
		return nil
	}
	return b.(Builder)
}

// SetDefaultScheme sets the scheme of targets without a scheme, for all channels that are made
// later, including those of NewClient.
func SetDefaultScheme(name string) {
	scheme.Set(name)
}

// GetDefaultScheme returns the scheme of targets without a scheme. It is "passthrough" until
// SetDefaultScheme is called. (NewClient uses "dns" until then.)
func GetDefaultScheme() string {
	return scheme.Or(scheme.Passthrough)
}
