// SPDX-License-Identifier: Apache-2.0

package client

import (
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
)

// kickLocked starts a goroutine that sends requests, if there are any and none is being sent.
func (s *server) kickLocked() {
	if s.stream == nil || s.sending || s.dirtyLocked() == nil {
		return
	}
	s.sending = true
	go s.send(s.stream)
}

// dirtyLocked returns a subscription with a request to send, or nil.
func (s *server) dirtyLocked() *subscription {
	for _, sub := range s.subs {
		if sub.dirty {
			return sub
		}
	}
	return nil
}

// send sends requests until there are none left, or until stream is no longer the current one.
func (s *server) send(stream Stream) {
	for {
		sub, req := s.next(stream)
		if req == nil {
			return
		}
		if stream.Send(req) != nil {
			return // the goroutine that reads the stream gets the error
		}
		s.sent(stream, sub, req)
	}
}

// next returns the next request and its subscription. It returns nil if there is nothing to send.
func (s *server) next(stream Stream) (*subscription, *discoveryv3.DiscoveryRequest) {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	if s.stream != stream {
		return nil, nil
	}
	sub := s.dirtyLocked()
	if sub == nil {
		s.sending = false
		return nil, nil
	}
	sub.dirty = false
	if !sub.asked && sub.lacks(s) {
		sub.version = ""
	}
	req := &discoveryv3.DiscoveryRequest{
		TypeUrl: sub.kind.url(), VersionInfo: sub.version, ResponseNonce: sub.nonce,
		ResourceNames: sub.names(),
	}
	sub.last = req.GetResourceNames()
	if s.firstLocked() { // the first request of a stream identifies the client
		req.Node = s.client.node
	}
	sub.asked = true
	if sub.nack != nil {
		req.ErrorDetail = &status.Status{Code: int32(codes.InvalidArgument), Message: sub.nack.Error()}
	}
	return sub, req
}

// lacks reports whether the version in use of a resource is not one that s sent, or there is none. A control plane
// that sees the version of an earlier stream may assume that the client has all that it requests, and send nothing.
func (sub *subscription) lacks(s *server) bool {
	for _, e := range sub.entries {
		if e.from != s {
			return true
		}
	}
	return false
}

// replaced reports whether a resource is in use that another server has sent.
func (sub *subscription) replaced(s *server) bool {
	for _, e := range sub.entries {
		if e.from != nil && e.from != s {
			return true
		}
	}
	return false
}

// names returns the resource names for the next request. If that request acknowledges a response, names
// leaves out the names that were added after the response. It always leaves out those that were dropped and
// added again since the last request. If it leaves out a name, the subscription is dirty again, so that
// another request with all names follows.
func (sub *subscription) names() []string {
	names := slices.Sorted(maps.Keys(sub.entries))
	all := len(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		_, dropped := sub.dropped[name]
		_, late := sub.late[name]
		return dropped || late && sub.owed
	})
	if sub.owed {
		sub.owed, sub.late = false, nil
	}
	sub.dropped = nil
	sub.dirty = len(names) < all
	return names
}

// requested reports whether the last request on the current stream has the name.
func (sub *subscription) requested(name string) bool {
	_, ok := slices.BinarySearch(sub.last, name)
	return ok
}

// firstLocked reports whether nothing has been sent on the current stream yet.
func (s *server) firstLocked() bool {
	for _, sub := range s.subs {
		if sub.asked {
			return false
		}
	}
	return true
}

// sent starts the timers of the resources that a request asks for.
func (s *server) sent(stream Stream, sub *subscription, req *discoveryv3.DiscoveryRequest) {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	if s.stream != stream {
		return
	}
	for _, name := range req.GetResourceNames() {
		if e := sub.entries[name]; e != nil {
			e.await(s)
		}
	}
}

func (s *server) subscribeLocked(e *entry) {
	sub, ok := s.subs[e.kind.url()]
	if !ok {
		sub = &subscription{kind: e.kind, entries: make(map[string]*entry)}
		s.subs[e.kind.url()] = sub
	}
	sub.entries[e.name] = e
	if sub.reading {
		if sub.fresh == nil {
			sub.fresh = make(map[string]struct{})
		}
		sub.fresh[e.name] = struct{}{}
	}
	if sub.reading || sub.owed {
		if sub.late == nil {
			sub.late = make(map[string]struct{})
		}
		sub.late[e.name] = struct{}{}
	}
	sub.dirty = true
	s.kickLocked()
}

func (s *server) unsubscribeLocked(e *entry) {
	sub := s.subs[e.kind.url()]
	if sub == nil || sub.entries[e.name] != e {
		return
	}
	delete(sub.entries, e.name)
	delete(sub.late, e.name)
	if e.timerFrom == s {
		e.stopTimer()
	}
	if sub.requested(e.name) {
		if sub.dropped == nil {
			sub.dropped = make(map[string]struct{})
		}
		sub.dropped[e.name] = struct{}{}
	}
	sub.dirty = sub.asked || len(sub.entries) > 0
	s.kickLocked()
}
