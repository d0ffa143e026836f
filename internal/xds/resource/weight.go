// SPDX-License-Identifier: Apache-2.0

package resource

// one is the number 1 in fixed point with 31 fractional bits, UQ1.31 (A113).
const one = 1 << 31

// PriorityWeight returns the sum of the weights of a priority's localities.
func PriorityWeight(localities []Locality) uint64 {
	sum := uint64(0)
	for i := range localities {
		sum += uint64(localities[i].Weight)
	}
	return sum
}

// EndpointWeights returns the share that each endpoint of the locality has in its priority, whose PriorityWeight is
// given, in units of 2^-31. That is the locality's share in the priority times the endpoint's share in
// the locality (A113). A share is at least 1. Endpoints that drain do not count in the sum, as they get no new
// connections (A27, A55).
func (l *Locality) EndpointWeights(priority uint64) []uint32 {
	share := uint64(l.Weight) * one / priority
	sum := uint64(0)
	for i := range l.Endpoints {
		if l.Endpoints[i].Health != Draining {
			sum += uint64(l.Endpoints[i].Weight)
		}
	}
	sum = max(sum, 1)
	out := make([]uint32, len(l.Endpoints))
	for i := range l.Endpoints {
		w := min(uint64(l.Endpoints[i].Weight)*one/sum, one)
		out[i] = uint32(max(w*share>>31, 1))
	}
	return out
}
