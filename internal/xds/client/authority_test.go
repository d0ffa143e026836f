// SPDX-License-Identifier: Apache-2.0

package client

import (
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/internal/xds/bootstrap"
)

// TestA57TimerOutlivesItsServer: a resource that no server has is known not to exist in time, also if the server
// that was asked first is no longer used, or its stream ends, while another one has been asked, too.
func TestA57TimerOutlivesItsServer(t *testing.T) {
	const timeout = 15 * time.Second
	// begin falls back to q, and asks it for x. p is back, but silent.
	begin := func(w *world) (x *seen, s, f *planeStream) {
		p, q := w.planes["p"], w.planes["q"]
		p.setDown(true)
		y, _ := w.watch(wholes, "y")
		f = q.next()
		f.send(wholeURL, "1", "1", "y=q1")
		y.want("q1")
		x, _ = w.watch(parts, "x")
		p.setDown(false)
		time.Sleep(5 * time.Second)
		s = p.next()
		s.drain()
		f.drain()
		return x, s, f
	}
	t.Run("no longer used", func(t *testing.T) {
		inWorld(t, two(), Config{}, func(w *world) {
			x, s, f := begin(w)
			s.send(wholeURL, "1", "1", "y=p1")
			s.drain()
			if f.ctx.Err() == nil {
				t.Error("the fallback stays")
			}
			time.Sleep(timeout - time.Second)
			x.want()
			time.Sleep(2 * time.Second)
			x.want("none")
		})
	})
	t.Run("the fallback's stream ends", func(t *testing.T) {
		inWorld(t, two(), Config{}, func(w *world) {
			x, _, f := begin(w)
			w.planes["q"].setDown(true)
			close(f.end)
			time.Sleep(timeout + time.Second)
			x.want("error control plane q (insecure) can't be reached", "none") // p has not said anything yet
		})
	})
	t.Run("the primary's stream ends", func(t *testing.T) {
		inWorld(t, two(), Config{}, func(w *world) {
			x, s, f := begin(w)
			close(f.end) // the timer goes to p
			time.Sleep(minStream)
			f = w.planes["q"].next()
			f.drain()
			w.planes["p"].setDown(true)
			close(s.end) // and back to q
			time.Sleep(timeout + time.Second)
			x.want("none")
		})
	})
	t.Run("nobody is asked", func(t *testing.T) {
		inWorld(t, two(), Config{}, func(w *world) {
			x, s, f := begin(w)
			w.planes["p"].setDown(true)
			w.planes["q"].setDown(true)
			close(s.end)
			close(f.end)
			time.Sleep(time.Hour)
			x.want("error control plane q (insecure) can't be reached")
		})
	})
}

// TestA36SameFromAnotherServer: a resource that comes unchanged from another control plane has not changed, so an xDS
// server does not drain its connections.
func TestA36SameFromAnotherServer(t *testing.T) {
	differs := newType(wholeURL, true, nil)
	differs.Alike = func(a, b *bootstrap.Server) bool { return a.URI == b.URI }
	for _, tt := range []struct {
		name string
		typ  *Type[string]
		want []string
	}{
		{"alike", wholes, nil},
		{"not alike", differs, []string{"1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, two(), Config{}, func(w *world) {
				p, q := w.planes["p"], w.planes["q"]
				p.setDown(true)
				x, _ := w.watch(tt.typ, "x")
				f := q.next()
				f.send(wholeURL, "7", "1", "x=1")
				x.want("1")
				p.setDown(false)
				time.Sleep(5 * time.Second)
				s := p.next()
				s.send(wholeURL, "1", "1", "x=1")
				x.want(tt.want...)
				if f.ctx.Err() == nil || q.closed != 1 {
					t.Error("the fallback stays")
				}
				if r := w.Resources(); len(r) != 1 || r[0].Version != "1" {
					t.Errorf("%+v", r)
				}
				s.send(wholeURL, "2", "2", "x=2")
				x.want("2")
				s.send(wholeURL, "3", "3") // the resource is p's now, so p can delete it
				x.want("none")
			})
		})
	}
}

// TestListedTwice: a control plane that is listed twice is one.
func TestListedTwice(t *testing.T) {
	p := serverText("p", "")
	inWorld(t, `{"xds_servers":[`+p+`,`+p+`]}`, Config{}, func(w *world) {
		p := w.planes["p"]
		p.setDown(true)
		a, _ := w.watch(parts, "a")
		a.want("error control plane p (insecure) can't be reached")
		p.setDown(false)
		time.Sleep(5 * time.Second)
		s := p.next()
		s.want(partURL, "", "", "a")
		s.send(partURL, "1", "1", "a=1")
		a.want("1")
		s.want(partURL, "1", "1", "a")
		b, _ := w.watch(parts, "b")
		s.want(partURL, "1", "1", "a", "b")
		s.send(partURL, "1", "2", "b=1")
		b.want("1")
	})
}

// TestA57SilentAfterReconnect: a control plane that is back need not say anything, as the client has all versions. A
// watch that begins then waits for its resource.
func TestA57SilentAfterReconnect(t *testing.T) {
	inWorld(t, two(), Config{}, func(w *world) {
		p, q := w.planes["p"], w.planes["q"]
		a, _ := w.watch(parts, "a")
		s := p.next()
		s.send(partURL, "1", "1", "a=1")
		a.want("1")
		p.setDown(true)
		close(s.end)
		time.Sleep(3 * time.Second)
		p.setDown(false)
		time.Sleep(10 * time.Second)
		s = p.next()
		s.want(partURL, "1", "", "a")
		b, _ := w.watch(parts, "b")
		b.want()
		q.none()
		s.send(partURL, "1", "2", "b=1")
		b.want("1")
		a.want()
	})
}

// TestA57AskedAgain: what did not exist before the control plane was lost is waited for anew, and what was refused is
// what watchers hear of again.
func TestA57AskedAgain(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		p := w.planes["p"]
		a, _ := w.watch(parts, "a")
		b, _ := w.watch(parts, "b")
		s := p.next()
		synctest.Wait()
		s.send(partURL, "1", "1", "b=bad")
		b.want("error")
		time.Sleep(16 * time.Second)
		a.want("none")
		p.setDown(true)
		close(s.end)
		time.Sleep(3 * time.Second)
		a.want("error control plane")
		b.want("error control plane")
		p.setDown(false)
		time.Sleep(10 * time.Second)
		s = p.next()
		another, _ := w.watch(parts, "a")
		another.want() // it waits, too
		time.Sleep(16 * time.Second)
		a.want("none")
		another.want("none")
		s.send(partURL, "1", "1", "b=bad")
		b.want(`error Thing "b"`)
		a.want()
	})
}

// TestA57StillLost: who begins to watch while there is a stream again, which then ends without a response, hears of it.
func TestA57StillLost(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		p := w.planes["p"]
		a, _ := w.watch(parts, "a")
		close(p.next().end)
		a.want("error control plane")
		time.Sleep(3 * time.Second)
		s := p.next()
		another, _ := w.watch(parts, "a")
		another.want()
		close(s.end)
		another.want("error control plane")
	})
}

// TestA71FallbackIsLate: the control plane is asked with the version that the client has of it, and then the fallback
// replaces that. When the first is used again, its own resources are.
func TestA71FallbackIsLate(t *testing.T) {
	inWorld(t, two(), Config{}, func(w *world) {
		p, q := w.planes["p"], w.planes["q"]
		l, _ := w.watch(wholes, "l")
		a, _ := w.watch(parts, "a")
		s := p.next()
		synctest.Wait()
		s.send(wholeURL, "1", "1", "l=p1")
		s.send(partURL, "1", "1", "a=p1")
		l.want("p1")
		a.want("p1")
		p.setDown(true)
		close(s.end)
		time.Sleep(3 * time.Second)
		b, _ := w.watch(parts, "b")
		f := q.next()
		p.setDown(false)
		time.Sleep(10 * time.Second)
		s = p.next()
		f.send(wholeURL, "1", "1", "l=q1")
		l.want("q1")
		s.send(partURL, "1", "1", "a=p1", "b=p1")
		b.want("p1")
		if f.ctx.Err() == nil {
			t.Error("the fallback stays")
		}
		time.Sleep(10 * time.Second)
		again := p.next()
		for range 2 {
			if r := (<-again.requests).(*discoveryv3.DiscoveryRequest); r.TypeUrl == wholeURL && r.VersionInfo != "" {
				t.Errorf("asked with version %q of what the fallback has sent", r.VersionInfo)
			}
		}
		again.send(wholeURL, "1", "1", "l=p1")
		l.want("p1")
	})
}
