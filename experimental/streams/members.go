// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"slices"

	"google.golang.org/grpc/internal/shrink"
)

// members are the streams of one connection that are in a Group. A client may open any number of them,
// and end all of them at once, so if there are many, each is found in one step.
type members[Req, Res any] struct {
	list []*Server[Req, Res]
	at   map[*Server[Req, Res]]int // the index of each in list; nil while there have been few
	most int                       // see shrink.Delete
}

// fewMembers is the largest number of members that find searches one by one.
const fewMembers = 32

func (m *members[Req, Res]) add(s *Server[Req, Res]) {
	m.list = append(m.list, s)
	switch {
	case m.at != nil:
		m.at[s] = len(m.list) - 1
	case len(m.list) > fewMembers:
		m.at = make(map[*Server[Req, Res]]int, len(m.list))
		for i, s := range m.list {
			m.at[s] = i
		}
	}
}

// remove reports whether s was a member.
func (m *members[Req, Res]) remove(s *Server[Req, Res]) bool {
	i := m.find(s)
	if i < 0 {
		return false
	}
	last := len(m.list) - 1
	moved := m.list[last]
	m.list[i], m.list[last] = moved, nil
	m.list = shrink.Slice(m.list[:last])
	switch {
	case m.at == nil:
	case last < fewMembers/2:
		m.at, m.most = nil, 0
	default:
		m.at[moved] = i
		m.at = shrink.Delete(m.at, s, &m.most)
	}
	return true
}

// find returns the index of s, or -1 if s is not a member.
func (m *members[Req, Res]) find(s *Server[Req, Res]) int {
	if m.at == nil {
		return slices.Index(m.list, s)
	}
	if i, ok := m.at[s]; ok {
		return i
	}
	return -1
}
