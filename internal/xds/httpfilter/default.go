// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"sync"
)

// Default returns the filters that no environment variable switches on.
var Default = sync.OnceValue(func() *Registry {
	return NewRegistry(Router{}, Fault{})
})
