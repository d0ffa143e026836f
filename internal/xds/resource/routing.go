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

// Request is what routes look at.
type Request struct {
	// Path is "/service/method".
	Path string
	// Metadata are the headers that the application or a filter has set. Binary ones are not
	// seen (A28).
	Metadata metadata.MD
	// Outgoing, if it is there, stands in for Metadata: what a client's call is to send.
	Outgoing Headers
	// Rand returns a random number below n. Nil means that of the process.
	Rand func(n uint32) uint32

	// joined are headers of several values, as matchers have asked for them, by name: a client sends many
	// long ones for a few bytes, and each route may ask for them.
	joined map[string]string
}

// Headers finds the values of a header by its name in lower case.
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

// Header returns the value of a header as matchers see it: of several, all with commas between.
// The name is in lower case. Only a header with several values makes it allocate.
func (r *Request) Header(name string) (value string, present bool) {
	if strings.HasSuffix(name, "-bin") {
		return "", false
	}
	switch v := r.values(name); {
	case name == "content-type":
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

// VirtualHost returns the one for a host, nil if there is none. Of the patterns that match, the
// whole name comes first, then the longest that ends the name, then the longest that begins it,
// then the asterisk alone; of two the same, the one that comes first. Letter case does not count.
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

// rank says how specific a match is.
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
	case pattern[0] == '*' && len(host) >= last && strings.EqualFold(pattern[1:], host[len(host)-last:]):
		return endsHost
	case pattern[last] == '*' && len(host) >= last && strings.EqualFold(pattern[:last], host[:last]):
		return beginsHost
	case strings.EqualFold(pattern, host):
		return wholeHost
	default:
		return noMatch
	}
}

// Route returns the first route that matches the request, nil if none does.
func (h *VirtualHost) Route(r *Request) *Route {
	for i := range h.Routes {
		if h.Routes[i].Match(r) {
			return &h.Routes[i]
		}
	}
	return nil
}

// Match reports whether the route is for the request.
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

// Cluster chooses one of the route's clusters by weight. There has to be one.
func (t *Route) Cluster(r *Request) *WeightedCluster { return &t.Clusters[t.ClusterIndex(r)] }

// ClusterIndex is Cluster that returns the index of the cluster among the route's.
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

// RetryOf returns the retry policy for a route of the host, nil if there is none (A44).
func (h *VirtualHost) RetryOf(t *Route) *RetryPolicy {
	if t.Retry != nil {
		return t.Retry
	}
	return h.Retry
}

// OverrideOf returns the most specific override for a filter, nil if there is none (A39). The
// cluster may be nil.
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

// Hash returns that of a request on a channel with a number of its own; ok is false if no policy
// gives one, and then any number will do.
func (t *Route) Hash(r *Request, channel uint64) (hash uint64, ok bool) {
	for i := range t.HashPolicies {
		p := &t.HashPolicies[i]
		if h, found := p.hash(r, channel); found {
			// Of the same policies comes the same hash, whatever other languages do (A42).
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
