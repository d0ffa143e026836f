// SPDX-License-Identifier: Apache-2.0

package client

import (
	"testing"
	"time"
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
