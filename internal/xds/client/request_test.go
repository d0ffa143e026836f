// SPDX-License-Identifier: Apache-2.0

package client

import (
	"testing"
	"testing/synctest"
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

// TestWatchedAgainAtOnce: the last watch of a resource ends and another begins before the next request is sent.
// A server sends the resource again only if it sees that it was dropped meanwhile.
func TestWatchedAgainAtOnce(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		p := w.planes["p"]
		w.watch(parts, "y")
		x, cancelX := w.watch(parts, "x")
		s := p.next()
		s.drain()
		s.send(partURL, "1", "1", "x=1", "y=1")
		s.want(partURL, "1", "1", "x", "y")
		x.want("1")

		busy := make(chan struct{})
		p.onRequest(func(*discoveryv3.DiscoveryRequest) { <-busy })
		_, cancelZ := w.watch(parts, "z")
		synctest.Wait() // now this request is being sent
		cancelX()
		x, cancelX = w.watch(parts, "x")
		close(busy)
		s.want(partURL, "1", "1", "x", "y", "z")
		s.want(partURL, "1", "1", "y", "z")
		s.want(partURL, "1", "1", "x", "y", "z")
		s.quiet()
		s.send(partURL, "1", "2", "x=1")
		s.want(partURL, "1", "2", "x", "y", "z")
		x.want("1")

		// A name that no request has had needs no more than one.
		busy = make(chan struct{})
		cancelZ()
		synctest.Wait()
		_, cancelN := w.watch(parts, "n")
		cancelN()
		w.watch(parts, "n")
		close(busy)
		s.want(partURL, "1", "2", "x", "y")
		s.want(partURL, "1", "2", "n", "x", "y")
		s.quiet()
		cancelX()
		s.want(partURL, "1", "2", "n", "y")
		s.quiet()
	})
}

// TestNewStreamHasAllNames: what was dropped and added again before a stream ended is in the first request on the next.
func TestNewStreamHasAllNames(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		p := w.planes["p"]
		_, cancel := w.watch(parts, "x")
		s := p.next()
		s.want(partURL, "", "", "x")
		s.send(partURL, "1", "1")
		s.want(partURL, "1", "1", "x")
		busy := make(chan struct{})
		p.onRequest(func(*discoveryv3.DiscoveryRequest) { <-busy })
		w.watch(parts, "y")
		synctest.Wait() // now this request is being sent
		cancel()
		w.watch(parts, "x")
		close(s.end)
		time.Sleep(minStream)
		close(busy)
		s = p.next()
		s.want(partURL, "", "", "x", "y")
		s.quiet()
	})
}

// TestVersionOfEarlierStream: on a new stream, a version says that the client has all that it requests.
func TestVersionOfEarlierStream(t *testing.T) {
	for _, tt := range []struct {
		name    string
		between func(w *world, cancelX func())
		version string
		names   []string
	}{
		{"nothing", func(*world, func()) {}, "1", []string{"x", "y"}},
		{"one dropped", func(_ *world, cancelX func()) { cancelX() }, "1", []string{"y"}},
		{"one added", func(w *world, _ func()) { w.watch(parts, "z") }, "", []string{"x", "y", "z"}},
		{"one dropped and added", func(w *world, cancelX func()) {
			cancelX()
			w.watch(parts, "x")
		}, "", []string{"x", "y"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, one(""), Config{}, func(w *world) {
				x, cancelX := w.watch(parts, "x")
				y, _ := w.watch(parts, "y")
				s := w.planes["p"].next()
				s.send(partURL, "1", "1", "x=1", "y=1")
				x.want("1")
				y.want("1")
				close(s.end)
				w.planes["p"].none()
				tt.between(w, cancelX)
				time.Sleep(time.Second)
				s = w.planes["p"].next()
				s.want(partURL, tt.version, "", tt.names...)
				if tt.version != "" {
					return
				}
				_, _ = w.watch(parts, "zz")
				s.want(partURL, "", "", append(tt.names, "zz")...)
				s.send(partURL, "1", "1", "x=1", "y=1", "z=1", "zz=1")
				s.want(partURL, "1", "1", append(tt.names, "zz")...)
			})
		})
	}
}
