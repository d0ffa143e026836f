// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/shrink"
	"google.golang.org/grpc/internal/transport"
)

// connSet is the connections of a server: a word for each, as most of them are idle.
// Guarded by the server's mu, as is the Place of each connection in it: one more than
// its index, 0 for a connection in no set.
type connSet struct {
	list    []*transport.Server
	sockets map[*transport.Server]*channelz.Socket // nil while channelz is off
}

func (s *connSet) len() int { return len(s.list) }

// add takes c, whose socket may be nil.
func (s *connSet) add(c *transport.Server, socket *channelz.Socket) {
	s.list = append(s.list, c)
	c.Place = int32(len(s.list))
	if socket == nil {
		return
	}
	if s.sockets == nil {
		s.sockets = make(map[*transport.Server]*channelz.Socket)
	}
	s.sockets[c] = socket
}

// remove returns c's socket, and whether c was there.
func (s *connSet) remove(c *transport.Server) (socket *channelz.Socket, known bool) {
	if c.Place == 0 {
		return nil, false
	}
	last := len(s.list) - 1
	moved := s.list[last]
	s.list[c.Place-1], moved.Place = moved, c.Place
	s.list[last], c.Place = nil, 0
	s.list = shrink.Slice(s.list[:last])
	socket = s.sockets[c]
	delete(s.sockets, c)
	return socket, true
}
