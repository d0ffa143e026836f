// SPDX-License-Identifier: Apache-2.0

package pickfirst

import (
	"cmp"
	"math"
	"slices"

	"google.golang.org/grpc/experimental/balancer/weight"
	"google.golang.org/grpc/resolver"
)

// shuffler puts endpoints into random order.
type shuffler struct {
	random  func() float64 // in [0, 1)
	weights bool           // shuffle follows the endpoints' weights
}

// shuffle puts the endpoints into random order, in place, and returns them. An endpoint with twice
// the weight is first twice as often (gRFC A113): "Assign a key to each endpoint, u ^ (1 / weight),
// where u is a uniform random number in (0, 1) [...] Sort endpoints by key in descending order."
// shuffle sorts by the logarithm of the key, which gives the same order and does not lose
// precision.
func (s *shuffler) shuffle(endpoints []resolver.Endpoint) []resolver.Endpoint {
	type drawn struct {
		endpoint resolver.Endpoint
		key      float64
	}
	all := make([]drawn, len(endpoints))
	for i, e := range endpoints {
		w := 1.0
		if s.weights {
			w = max(float64(weight.FromEndpoint(e).Weight), 1)
		}
		all[i] = drawn{e, math.Log(1-s.random()) / w}
	}
	slices.SortFunc(all, func(x, y drawn) int { return cmp.Compare(y.key, x.key) })
	for i := range all {
		endpoints[i] = all[i].endpoint
	}
	return endpoints
}
