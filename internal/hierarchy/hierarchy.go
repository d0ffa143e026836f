// SPDX-License-Identifier: Apache-2.0

// Package hierarchy marks each endpoint with the policy, in a tree of policies, that it is for: an
// endpoint carries the path of names that leads down to its policy.
package hierarchy

import (
	"slices"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"
)

type key struct{}

type path []string

// Equal compares paths. Package attributes calls it for values that can't be compared with ==.
func (p path) Equal(o any) bool {
	other, ok := o.(path)
	return ok && slices.Equal(p, other)
}

// FromEndpoint returns the path of an endpoint, or nil if it has none. Do not change the slice.
func FromEndpoint(e resolver.Endpoint) []string {
	p, _ := e.Attributes.Value(key{}).(path)
	return p
}

// Set returns the endpoint with a path. The caller must not change names afterwards.
func Set(e resolver.Endpoint, names []string) resolver.Endpoint {
	e.Attributes = e.Attributes.WithValue(key{}, path(names))
	return e
}

// Setter sets paths. Endpoints that shared attributes before, such as those of a locality, share
// them afterwards, too, if they follow one another. The zero value is ready for use.
type Setter struct{ before, after *attributes.Attributes }

// Set returns the endpoint with a path. The caller must not change names afterwards, and must pass
// the same names for all endpoints with the same attributes.
func (s *Setter) Set(e resolver.Endpoint, names []string) resolver.Endpoint {
	if s.after == nil || s.before != e.Attributes {
		s.before, s.after = e.Attributes, Set(e, names).Attributes
	}
	e.Attributes = s.after
	return e
}

// Group groups endpoints by the first name of their paths, and removes that name. It leaves out
// endpoints without a path.
func Group(endpoints []resolver.Endpoint) map[string][]resolver.Endpoint {
	sizes := make(map[string]int)
	for _, e := range endpoints {
		if p := FromEndpoint(e); len(p) > 0 {
			sizes[p[0]]++
		}
	}
	groups := make(map[string][]resolver.Endpoint, len(sizes))
	var rest Setter
	for _, e := range endpoints {
		p := FromEndpoint(e)
		if len(p) == 0 {
			continue
		}
		group := groups[p[0]]
		if group == nil {
			group = make([]resolver.Endpoint, 0, sizes[p[0]])
		}
		groups[p[0]] = append(group, rest.Set(e, p[1:]))
	}
	return groups
}
