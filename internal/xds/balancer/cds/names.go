// SPDX-License-Identifier: Apache-2.0

package cds

import (
	"strconv"

	"google.golang.org/grpc/internal/xds/resource"
)

// names has the names of the priority policy's children. A child keeps its connections as long as it
// keeps its name. So a priority takes over the name of a child that had one of its localities before,
// even if that child was for another priority (A56).
type names struct {
	list []string // by priority
	by   []named  // the first entry of a locality counts; a slice is smaller than a map
	next int
}

// named is a locality and the name of the child that it was in.
type named struct {
	id   resource.LocalityID
	name string
}

// assign assigns names to the priorities. It replaces list and does not change the old one.
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
