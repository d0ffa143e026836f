// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"sync"

	"google.golang.org/grpc/internal/resolver/scheme"
)

var registry sync.Map // scheme string -> Builder

// Register makes b the builder of its scheme, in place of an earlier one. Schemes are
// compared by letter case; targets are parsed to lower case, so a scheme with an upper
// case letter is never found. It is meant for init functions, and safe elsewhere.
func Register(b Builder) {
	registry.Store(b.Scheme(), b)
}

// Get returns the builder of a scheme, nil when none was registered.
func Get(scheme string) Builder {
	b, ok := registry.Load(scheme)
	if !ok {
		return nil
	}
	return b.(Builder)
}

// SetDefaultScheme sets the scheme of targets that name none, for the channels that
// are made later, by NewClient too.
func SetDefaultScheme(name string) {
	scheme.Set(name)
}

// GetDefaultScheme returns the scheme of targets that name none: "passthrough" until
// SetDefaultScheme is called. (NewClient uses "dns" until then.)
func GetDefaultScheme() string {
	return scheme.Or(scheme.Passthrough)
}
