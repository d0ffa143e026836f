// SPDX-License-Identifier: Apache-2.0

package client

import (
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// TestDroppedBeforeTheFirstRequest: one watch of a type ends before the first request of that type has been
// sent on a stream, be it the first stream or a later one. The request still has the other names.
func TestDroppedBeforeTheFirstRequest(t *testing.T) {
	t.Run("new stream", func(t *testing.T) {
		inWorld(t, one(""), Config{}, func(w *world) {
			p := w.planes["p"]
			cancels := make(map[string]func()) // by type URL
			for _, typ := range []*Type[string]{parts, wholes} {
				w.watch(typ, "a")
				_, cancels[typ.URL] = w.watch(typ, "b")
			}
			s := p.next()
			s.drain()
			s.send(partURL, "1", "1", "a=1", "b=1")
			s.send(wholeURL, "1", "1", "a=1", "b=1")
			s.drain()
			var first, other string
			p.onRequest(func(r *discoveryv3.DiscoveryRequest) {
				if first != "" {
					return
				}
				first, other = r.GetTypeUrl(), partURL
				if first == partURL {
					other = wholeURL
				}
				cancels[other]()
			})
			close(s.end)
			time.Sleep(minStream)
			s = p.next()
			s.want(first, "1", "", "a", "b")
			s.want(other, "1", "", "a")
			s.quiet()
		})
	})
	t.Run("new type", func(t *testing.T) {
		inWorld(t, one(""), Config{}, func(w *world) {
			p := w.planes["p"]
			busy := make(chan struct{})
			p.onRequest(func(*discoveryv3.DiscoveryRequest) { <-busy })
			w.watch(wholes, "l")
			s := p.next()
			a, _ := w.watch(parts, "a")
			_, cancelB := w.watch(parts, "b")
			cancelB()
			close(busy)
			s.want(wholeURL, "", "", "l")
			s.want(partURL, "", "", "a")
			s.quiet()
			time.Sleep(20 * time.Second)
			a.want("none")
		})
	})
	t.Run("nothing left", func(t *testing.T) {
		inWorld(t, one(""), Config{}, func(w *world) {
			p := w.planes["p"]
			busy := make(chan struct{})
			p.onRequest(func(*discoveryv3.DiscoveryRequest) { <-busy })
			w.watch(parts, "a")
			s := p.next()
			_, cancel := w.watch(wholes, "l")
			cancel()
			close(busy)
			s.want(partURL, "", "", "a")
			s.quiet() // a request without names would ask for everything
		})
	})
}
