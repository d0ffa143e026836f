// SPDX-License-Identifier: Apache-2.0

package pickfirst

import (
	"cmp"
	"math"
	"slices"

	"google.golang.org/grpc/experimental/balancer/weight"
	"google.golang.org/grpc/resolver"
)

// shuffle puts the endpoints, which are the caller's own, into random order. One of twice the
// weight is first twice as often (gRFC A113): "Assign a key to each endpoint, u ^ (1 / weight),
// where u is a uniform random number in (0, 1) [...] Sort endpoints by key in descending order."
// The logarithm of the key does as well, and does not run out of digits.
func (b *pickFirst) shuffle(endpoints []resolver.Endpoint) []resolver.Endpoint {
	type drawn struct {
		endpoint resolver.Endpoint
		key      float64
	}
	all := make([]drawn, len(endpoints))
	for i, e := range endpoints {
		w := 1.0
		if b.weights {
			w = max(float64(weight.FromEndpoint(e).Weight), 1)
		}
		all[i] = drawn{e, math.Log(1-b.random()) / w}
	}
	slices.SortFunc(all, func(x, y drawn) int { return cmp.Compare(y.key, x.key) })
	for i := range all {
		endpoints[i] = all[i].endpoint
	}
	return endpoints
}
