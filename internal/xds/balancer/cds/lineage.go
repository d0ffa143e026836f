// SPDX-License-Identifier: Apache-2.0

package cds

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/resolver"
)

// The control plane can name cds, or a policy such as rls that has it below, as the policy of a cluster (A52). So
// one cluster can lead to another one, and at last to itself. These are limits, as each of these clusters costs
// stack and memory.
const (
	// maxDepth limits how many clusters may lie one below the other. A37 has the same limit for aggregate
	// clusters, which package dependency takes apart before.
	maxDepth = 16
	// maxBelow limits how many cds policies may lie below a cluster that is not an aggregate. Without it there
	// could be n^16 of them, as each cluster may lead to others n times, for example once for each locality.
	maxBelow = 1000
)

// lineage says where a policy lies below other policies of its kind. Policies below find it in the resolver's
// state.
type lineage struct {
	above     *lineage // nil for the topmost policy
	name      string   // of the cluster
	policy    string   // what replaces the cluster's policy, if that is replaced
	aggregate bool
	depth     int           // 1 for the topmost policy
	below     *atomic.Int32 // how many policies lie below the topmost cluster that is not an aggregate; nil above that
	leads     atomic.Bool   // whether a cds policy has been below this one
}

type lineageKey struct{}

func lineageOf(s resolver.State) *lineage {
	l, _ := s.Attributes.Value(lineageKey{}).(*lineage)
	return l
}

// attach returns s for the policies below.
func (l *lineage) attach(s resolver.State) resolver.State {
	s.Attributes = s.Attributes.WithValue(lineageKey{}, l)
	return s
}

// enter makes the policy's lineage, unless it is still the same, which it reports.
func (p *policy) enter(above *lineage, c *config, aggregate bool) (same bool) {
	if l := p.line; l != nil && l.above == above && l.name == c.cluster && l.policy == string(c.policy) && l.aggregate == aggregate {
		return true
	}
	p.leave()
	l := &lineage{above: above, name: c.cluster, policy: string(c.policy), aggregate: aggregate, depth: 1}
	if above != nil {
		l.depth, l.below = above.depth+1, above.below
	}
	switch {
	case l.below != nil:
		l.below.Add(1)
	case !aggregate:
		l.below = new(atomic.Int32)
	}
	for a := above; a != nil; a = a.above {
		a.leads.Store(true)
	}
	p.line = l
	return false
}

// leave undoes enter.
func (p *policy) leave() {
	if l := p.line; l != nil && l.above != nil && l.above.below != nil {
		l.below.Add(-1)
	}
	p.line = nil
}

var errCrowded = fmt.Errorf("the policies of clusters lead to more than %d other clusters", maxBelow)

// check returns an error if a cluster may not be where the lineage says.
func (l *lineage) check() error {
	for a := l.above; a != nil; a = a.above {
		if a.name == l.name && a.policy == l.policy { // what is below a would be below l again
			return errors.New("its policy leads back to it: " + l.path(a))
		}
	}
	switch {
	case l.depth > maxDepth:
		return fmt.Errorf("the policies of clusters lead to others more than %d deep", maxDepth)
	case l.below != nil && l.below.Load() > maxBelow:
		return errCrowded
	}
	return nil
}

// path returns the names of the clusters from first to l.
func (l *lineage) path(first *lineage) string {
	names := []string{strconv.Quote(l.name)}
	for a := l.above; a != first; a = a.above {
		names = append(names, strconv.Quote(a.name))
	}
	names = append(names, strconv.Quote(first.name))
	slices.Reverse(names)
	return strings.Join(names, " -> ")
}
