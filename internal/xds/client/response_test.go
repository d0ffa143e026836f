// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// TestAnswersArePaced: a control plane that answers each request at once, with another version
// each time, decides what is asked for, not how often.
func TestAnswersArePaced(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value func(n int) string
		// pushes is how many responses come for each request.
		pushes int
	}{
		{"valid", func(n int) string { return fmt.Sprint("a=", n) }, 1},
		{"invalid", func(int) string { return "a=bad" }, 1},
		{"in turn", func(n int) string { return []string{"a=1", "a=bad"}[n%2] }, 1},
		{"several for a request", func(n int) string { return fmt.Sprint("a=", n) }, 7},
		{"the same", func(int) string { return "a=1" }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, one(""), Config{}, func(w *world) {
				const seconds = 10
				Watch(w.Client, parts, "a", &seen{t: t})
				s := w.planes["p"].next()
				end := time.After(seconds*time.Second - time.Millisecond)
				requests, version := 0, 0
				last := ""
				for open := true; open && requests <= 2*seconds*maxAnswers; { // more than that is no pace
					select {
					case m := <-s.requests:
						requests++
						last = m.(*discoveryv3.DiscoveryRequest).GetResponseNonce()
						for range tt.pushes {
							version++
							s.send(partURL, fmt.Sprint(version), fmt.Sprint(version), tt.value(version))
						}
					case <-end:
						open = false
					}
				}
				if requests < seconds || requests > seconds*(maxAnswers+1) { // one more for each pause: it is not counted
					t.Errorf("%d requests in %d s", requests, seconds)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				for len(s.requests) > 0 {
					last = (<-s.requests).(*discoveryv3.DiscoveryRequest).GetResponseNonce()
				}
				if last != fmt.Sprint(version) {
					t.Errorf("the last answer is to %s of %d", last, version)
				}
			})
		})
	}
}

// TestStreamsDoNotWaitForAnswers: an answer that is due is of one stream, and the next one begins
// without it.
func TestStreamsDoNotWaitForAnswers(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		a, _ := w.watch(parts, "a")
		s := w.planes["p"].next()
		s.want(partURL, "", "", "a")
		s.send(partURL, "1", "1", "a=bad")
		s.want(partURL, "", "1", "a")
		a.want("error Thing")
		s.send(partURL, "1", "2", "a=bad")
		s.quiet()
		time.Sleep(refusalPause / 4)
		close(s.end)
		time.Sleep(minStream)
		s = w.planes["p"].next()
		s.want(partURL, "", "", "a")
		s.send(partURL, "2", "3", "a=5")
		s.want(partURL, "2", "3", "a")
		a.want("5")
		time.Sleep(2 * refusalPause)
		s.quiet()
	})
}

// TestResponseCostsWhatIsInIt: a response with one resource takes no look at all that are watched.
func TestResponseCostsWhatIsInIt(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		const watched = 3000
		for i := range watched {
			w.watch(parts, fmt.Sprint("n", i))
		}
		s := w.planes["p"].next()
		w.mu.Lock()
		server := w.servers[w.Bootstrap().Servers[0].Key()]
		w.mu.Unlock()
		one := thing(partURL, "n1", "x")
		const rounds = 20
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			r := &response{server: server, url: partURL}
			if !r.begin(server.stream) {
				t.Fatal("nobody asked")
			}
			if r.add(0, one); r.valid != 1 {
				t.Fatal(r.problems)
			}
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / rounds; n > 10*watched {
			t.Errorf("a response with one resource takes %d bytes where %d are watched", n, watched)
		}
		for len(s.requests) > 0 {
			<-s.requests
		}
	})
}

// TestA71FallbackDeletion: a resource of which only the fallback knows is deleted once the fallback is no longer
// used, as the server that took over says with each complete response that does not have it.
func TestA71FallbackDeletion(t *testing.T) {
	// begin falls back to q, which sends x and y. p is back.
	begin := func(w *world, typ *Type[string]) (x, y *seen, s, f *planeStream) {
		p := w.planes["p"]
		p.setDown(true)
		x, _ = w.watch(typ, "x")
		y, _ = w.watch(typ, "y")
		f = w.planes["q"].next()
		f.send(wholeURL, "1", "1", "x=q1", "y=q1")
		x.want("q1")
		y.want("q1")
		p.setDown(false)
		time.Sleep(5 * time.Second)
		return x, y, p.next(), f
	}
	t.Run("at once", func(t *testing.T) {
		inWorld(t, two(), Config{}, func(w *world) {
			x, y, s, _ := begin(w, wholes)
			s.send(wholeURL, "1", "1")
			s.drain()
			x.want() // the fallback is still in use
			y.want()
			s.send(wholeURL, "2", "2", "y=p1")
			x.want("none")
			y.want("p1")
			s.send(wholeURL, "3", "3", "x=p1", "y=p1")
			x.want("p1")
			s.drain()
		})
	})
	t.Run("another type first", func(t *testing.T) {
		inWorld(t, two(), Config{}, func(w *world) {
			x, y, s, _ := begin(w, wholes)
			a, _ := w.watch(parts, "a")
			s.send(partURL, "1", "1", "a=p1")
			a.want("p1")
			x.want()
			s.send(wholeURL, "1", "1", "y=p1")
			x.want("none")
			y.want("p1")
			s.drain()
		})
	})
	t.Run("asked for while read", func(t *testing.T) {
		inWorld(t, two(), Config{}, func(w *world) {
			typ, reading, goOn := held(wholeURL, true)
			_, y, s, f := begin(w, typ)
			s.send(wholeURL, "1", "1", "y=held")
			<-reading
			z, _ := w.watch(typ, "z")
			f.send(wholeURL, "2", "2", "x=q1", "y=q1", "z=q1")
			z.want("q1")
			goOn <- struct{}{}
			y.want("held")
			z.want() // the response does not count for it
			s.send(wholeURL, "2", "2", "y=p2")
			z.want("none")
			s.drain()
		})
	})
	t.Run("A53", func(t *testing.T) {
		config := `{"xds_servers":[` + serverText("p", `,"server_features":["ignore_resource_deletion"]`) + `,` + serverText("q", "") + `]}`
		inWorld(t, config, Config{}, func(w *world) {
			x, y, s, _ := begin(w, wholes)
			s.send(wholeURL, "1", "1", "y=p1")
			y.want("p1")
			x.want()
			s.drain()
		})
	})
}

// TestA71TakeOverWhileRead: the primary sends the value that it had sent before; while the client reads the response,
// the fallback sends another one. The primary's value wins.
func TestA71TakeOverWhileRead(t *testing.T) {
	inWorld(t, two(), Config{}, func(w *world) {
		p, q := w.planes["p"], w.planes["q"]
		typ, reading, goOn := held(partURL, false)
		x, _ := w.watch(typ, "x")
		s := p.next()
		s.send(partURL, "1", "1", "x=p1")
		x.want("p1")
		p.setDown(true)
		close(s.end)
		w.watch(typ, "y") // the reason to fall back
		time.Sleep(5 * time.Second)
		f := q.next()
		p.setDown(false)
		time.Sleep(5 * time.Second)
		s = p.next()
		s.send(partURL, "1", "1", "x=p1", "y=held")
		<-reading
		f.send(partURL, "1", "1", "x=q1")
		x.want("q1")
		goOn <- struct{}{}
		x.want("p1")
		s.drain()
		f.drain()
	})
}

// TestMetricsMayWait: Metrics may wait for somebody who calls the client, as a recorder does that is collecting.
func TestMetricsMayWait(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		calls := 0
		w.metrics.hook = func() {
			calls++
			w.Servers()
			w.Resources()
		}
		a, _ := w.watch(parts, "a")
		s := w.planes["p"].next()
		s.send(partURL, "1", "1", "a=1")
		a.want("1")
		close(s.end)
		time.Sleep(time.Second)
		close(w.planes["p"].next().end)
		a.want("ambient control plane")
		if calls != 2 {
			t.Errorf("%d calls", calls)
		}
	})
}
