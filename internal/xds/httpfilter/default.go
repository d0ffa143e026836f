// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"sync"
)

// Default returns a Registry with the router and fault injection, for callers that bring
// none of their own.
var Default = sync.OnceValue(func() *Registry {
	return NewRegistry(Router{}, Fault{})
})
