// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"unsafe"

	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/internal/xxh64"
	"google.golang.org/grpc/metadata"
)

// Request has the properties of a request that routes match on.
type Request struct {
	// Path is "/service/method".
	Path string
	// Metadata has the headers that the application or a filter has set. Routes do not see binary headers
	// (A28).
	Metadata metadata.MD
	// Outgoing, if not nil, takes the place of Metadata. It has the headers that a client's call is to
	// send.
	Outgoing Headers
	// Rand returns a random number below n. Nil means the generator of package math/rand/v2.
	Rand func(n uint32) uint32

	// joined caches the joined values of headers with several values, by name. A client can send many
	// long values in a few bytes, and each route may ask for them.
	joined map[string]string
}

// Headers finds the values of a header by its name, which must be in lower case.
type Headers interface {
	Values(name string) []string
}

func (r *Request) values(name string) []string {
	if r.Outgoing != nil {
		return r.Outgoing.Values(name)
	}
	return r.Metadata[name]
}

func (r *Request) roll(n uint32) uint32 {
	if r.Rand != nil {
		return r.Rand(n)
	}
	return rand.Uint32N(n)
}

// Header returns the value of a header as matchers see it. Several values are joined with commas. name
// must be in lower case. Header allocates only for a header with several values.
func (r *Request) Header(name string) (value string, present bool) {
	if strings.HasSuffix(name, "-bin") {
		return "", false
	}
	switch v := r.values(name); {
	case name == "content-type" && (r.Outgoing != nil || len(v) == 0): // a client adds it later (A28)
		return "application/grpc", true
	case len(v) == 0:
		return "", false
	case len(v) == 1:
		return v[0], true
	default:
		return r.join(name, v), true
	}
}

func (r *Request) join(name string, values []string) string {
	text, known := r.joined[name]
	if !known {
		text = strings.Join(values, ",")
		if r.joined == nil {
			r.joined = make(map[string]string)
		}
		r.joined[name] = text
	}
	return text
}

// VirtualHost returns the virtual host for a host name, or nil if there is none. Of the patterns that
// match, it prefers the whole name, then the longest that ends the name, then the longest that begins it,
// then the single asterisk. Of equal patterns it takes the first. Case does not count.
func (c *RouteConfig) VirtualHost(host string) *VirtualHost {
	var best *VirtualHost
	bestRank, bestLen := noMatch, 0
	for i := range c.VirtualHosts {
		vh := &c.VirtualHosts[i]
		for _, d := range vh.Domains {
			rank := rankOf(d, host)
			if rank > bestRank || rank == bestRank && rank != noMatch && len(d) > bestLen {
				best, bestRank, bestLen = vh, rank, len(d)
			}
		}
	}
	return best
}

// rank says how specific a match is; a higher rank is more specific.
type rank uint8

const (
	noMatch rank = iota
	anyHost
	beginsHost
	endsHost
	wholeHost
)

func rankOf(pattern, host string) rank {
	last := len(pattern) - 1
	switch {
	case pattern == "*":
		return anyHost
	case pattern[0] == '*' && len(host) > last && strings.EqualFold(pattern[1:], host[len(host)-last:]):
		return endsHost
	case pattern[last] == '*' && len(host) > last && strings.EqualFold(pattern[:last], host[:last]):
		return beginsHost
	case strings.EqualFold(pattern, host):
		return wholeHost
	default:
		return noMatch
	}
}

// Route returns the first route that matches the request, or nil if none does.
func (h *VirtualHost) Route(r *Request) *Route {
	for i := range h.Routes {
		if h.Routes[i].Match(r) {
			return &h.Routes[i]
		}
	}
	return nil
}

// Match reports whether the route matches the request.
func (t *Route) Match(r *Request) bool {
	if !t.Path.Match(r.Path) {
		return false
	}
	for i := range t.Headers {
		h := &t.Headers[i]
		if !h.Match(r.Header(h.Name())) {
			return false
		}
	}
	return t.Fraction == match.All || t.Fraction.Match(r.roll(uint32(match.All)))
}

// Cluster chooses one of the route's clusters at random, by weight. The route must have a cluster.
func (t *Route) Cluster(r *Request) *WeightedCluster { return &t.Clusters[t.ClusterIndex(r)] }

// ClusterIndex does what Cluster does, but returns the index of the cluster.
func (t *Route) ClusterIndex(r *Request) int {
	if len(t.Clusters) == 1 {
		return 0
	}
	roll := r.roll(t.Clusters[len(t.Clusters)-1].upTo)
	i, _ := slices.BinarySearchFunc(t.Clusters, roll, func(w WeightedCluster, roll uint32) int {
		if w.upTo <= roll {
			return -1
		}
		return 1
	})
	return i
}

// RetryOf returns the retry policy for a route of the host, or nil if there is none (A44). A policy of the route replaces
// that of the host also if it retries nothing.
func (h *VirtualHost) RetryOf(t *Route) *RetryPolicy {
	p := t.Retry
	if p == nil {
		p = h.Retry
	}
	if p == nil || len(p.Codes) == 0 {
		return nil
	}
	return p
}

// OverrideOf returns the most specific override for a filter, or nil if there is none (A39). w may be
// nil.
func OverrideOf(f *Filter, h *VirtualHost, t *Route, w *WeightedCluster) any {
	if w != nil {
		if c := w.Overrides.Of(f); c != nil {
			return c
		}
	}
	if c := t.Overrides.Of(f); c != nil {
		return c
	}
	return h.Overrides.Of(f)
}

// Hash returns the hash of a request. channel is the channel's number. ok is false if no policy gives a
// hash; then the caller may use any number.
func (t *Route) Hash(r *Request, channel uint64) (hash uint64, ok bool) {
	for i := range t.HashPolicies {
		p := &t.HashPolicies[i]
		if h, found := p.hash(r, channel); found {
			// Equal policies always give equal hashes here; other languages may combine them differently
			// (A42).
			hash, ok = bits.RotateLeft64(hash, 1)^h, true
		}
		if ok && p.Terminal {
			break
		}
	}
	return hash, ok
}

func (p *HashPolicy) hash(r *Request, channel uint64) (hash uint64, ok bool) {
	if p.Header == "" {
		return channel, true
	}
	value, ok := r.Header(p.Header)
	if !ok {
		return 0, false
	}
	if p.rewrite != nil {
		value = p.rewrite.ReplaceAllString(value, p.by)
	}
	return xxh64.Sum(unsafe.Slice(unsafe.StringData(value), len(value))), true
}
