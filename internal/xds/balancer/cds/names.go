// SPDX-License-Identifier: Apache-2.0

package cds

import (
	"strconv"

	"google.golang.org/grpc/internal/xds/resource"
)

// names are those of the children for priorities. A child keeps its connections for as long as
// it keeps its name, so a priority takes the name of one that had a locality of its, even where
// that was another priority (A56).
type names struct {
	list []string // by priority
	by   []named  // the first of a locality counts; maps are larger
	next int
}

// named is a locality and the child it was in.
type named struct {
	id   resource.LocalityID
	name string
}

// assign makes names for the priorities. list is another one then.
func (n *names) assign(priorities [][]resource.Locality) {
	before := make(map[resource.LocalityID]string, len(n.by))
	for _, b := range n.by {
		if _, twice := before[b.id]; !twice {
			before[b.id] = b.name
		}
	}
	n.by, n.list = nil, make([]string, 0, len(priorities))
	taken := make(map[string]bool, len(priorities))
	for _, localities := range priorities {
		name := ""
		for i := range localities {
			if old, ok := before[localities[i].ID]; ok && !taken[old] {
				name = old
				break
			}
		}
		if name == "" {
			name = "priority-" + strconv.Itoa(n.next)
			n.next++
		}
		taken[name] = true
		n.list = append(n.list, name)
		for i := range localities {
			n.by = append(n.by, named{localities[i].ID, name})
		}
	}
}
