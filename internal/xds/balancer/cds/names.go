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
	by   map[resource.LocalityID]string
	next int
}

// assign makes names for the priorities. list is another one then.
func (n *names) assign(priorities [][]resource.Locality) {
	before := n.by
	n.by, n.list = make(map[resource.LocalityID]string), make([]string, 0, len(priorities))
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
			if _, ok := n.by[localities[i].ID]; !ok {
				n.by[localities[i].ID] = name
			}
		}
	}
}
