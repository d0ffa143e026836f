// SPDX-License-Identifier: Apache-2.0

package resource

// one is the number 1 in fixed point with 31 fractional bits, UQ1.31 (A113).
const one = 1 << 31

// EndpointWeights returns the share that each endpoint of a locality has in its priority, in
// units of 2^-31. That is the locality's share in the priority times the endpoint's share in
// the locality (A113). A share is at least 1.
func EndpointWeights(priority []Locality, locality int) []uint32 {
	sum := uint64(0)
	for i := range priority {
		sum += uint64(priority[i].Weight)
	}
	l := &priority[locality]
	share := uint64(l.Weight) * one / sum
	sum = 0
	for i := range l.Endpoints {
		sum += uint64(l.Endpoints[i].Weight)
	}
	out := make([]uint32, len(l.Endpoints))
	for i := range l.Endpoints {
		w := uint64(l.Endpoints[i].Weight) * one / sum
		out[i] = uint32(max(w*share>>31, 1))
	}
	return out
}
