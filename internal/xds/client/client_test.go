// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

func TestA27VersionsAndNonces(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		a, cancelA := w.watch(parts, "a")
		s := w.planes["p"].next()
		if r := s.want(partURL, "", "", "a"); r.Node == nil {
			t.Error("the first request does not say who asks")
		}
		b, _ := w.watch(parts, "b")
		if r := s.want(partURL, "", "", "a", "b"); r.Node != nil {
			t.Error("the node is sent again")
		}
		s.send(partURL, "1", "n1", "a=1", "b=2", "other=bad")
		s.want(partURL, "1", "n1", "a", "b")
		a.want("1")
		b.want("2")

		// What is valid is used, though the response is refused (A46).
		s.send(partURL, "2", "n2", "a=bad", "b=3")
		r := s.want(partURL, "1", "n2", "a", "b")
		if d := r.ErrorDetail; d.GetCode() != int32(codes.InvalidArgument) || !strings.Contains(d.GetMessage(), `Thing "a" is not valid: field x: bad`) {
			t.Errorf("%v", d)
		}
		a.want(`ambient Thing "a" is not valid: field x: bad`)
		b.want("3")

		// The version in use again: the error is over.
		s.send(partURL, "3", "n3", "a=1")
		s.want(partURL, "3", "n3", "a", "b")
		a.want("ambient over")
		b.want()

		cancelA()
		s.want(partURL, "3", "n3", "b")
		if got := w.metrics.m["p "+partURL+" invalid"]; got != 1 {
			t.Errorf("%d invalid resources", got)
		}
		if got := w.metrics.m["p "+partURL+" valid"]; got != 4 {
			t.Errorf("%d valid resources", got)
		}
	})
}

func TestRefusedAgain(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		a, _ := w.watch(parts, "a")
		s := w.planes["p"].next()
		s.want(partURL, "", "", "a")
		s.send(partURL, "1", "1", "a=bad")
		s.want(partURL, "", "1", "a")
		a.want("error Thing")
		for range 3 { // a control plane that sends it again at once is slowed down
			s.send(partURL, "1", "2", "a=bad")
			s.quiet()
			time.Sleep(refusalPause)
			s.want(partURL, "", "2", "a")
			a.want()
		}
		s.send(partURL, "2", "3", "a=bad") // another version
		s.want(partURL, "", "3", "a")
		a.want("error Thing")
		s.send(partURL, "3", "4", "a=1")
		s.want(partURL, "3", "4", "a")
		a.want("1")
	})
}

func TestWatchersShareAResource(t *testing.T) {
	decoded := 0
	typ := newType(partURL, false, &decoded)
	inWorld(t, one(""), Config{}, func(w *world) {
		a1, cancel1 := w.watch(typ, "a")
		s := w.planes["p"].next()
		s.want(partURL, "", "", "a")
		a2, cancel2 := w.watch(typ, "a")
		s.quiet()
		s.send(partURL, "1", "1", "a=1")
		s.want(partURL, "1", "1", "a")
		a1.want("1")
		a2.want("1")
		a3, cancel3 := w.watch(typ, "a") // out of the cache
		a3.want("1")
		s.send(partURL, "2", "2", "a=1") // the same
		s.want(partURL, "2", "2", "a")
		a1.want()
		if decoded != 1 {
			t.Errorf("decoded %d times", decoded)
		}
		s.send(partURL, "3", "3", "a=bad")
		s.want(partURL, "2", "3", "a")
		a1.want("ambient")
		a2.want("ambient")
		a3.want("ambient")
		a4, cancel4 := w.watch(typ, "a") // A88: the value, then the error
		a4.want("1", "ambient")
		for _, cancel := range []func(){cancel1, cancel2, cancel2, cancel3} {
			cancel()
			s.quiet()
		}
		cancel4()
		synctest.Wait()
		if w.planes["p"].closed != 1 {
			t.Error("the connection stays without a watch")
		}
		if r := w.Resources(); len(r) != 0 {
			t.Errorf("%v", r)
		}
	})
}

func TestWrappedResources(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		a, _ := w.watch(parts, "a")
		s := w.planes["p"].next()
		s.want(partURL, "", "", "a")
		wrapped, err := proto.Marshal(&discoveryv3.Resource{Name: "a", Resource: thing(partURL, "a", "1")})
		if err != nil {
			t.Fatal(err)
		}
		s.responses <- &discoveryv3.DiscoveryResponse{TypeUrl: partURL, VersionInfo: "1", Nonce: "1", Resources: []*anypb.Any{{TypeUrl: wrapperURL, Value: wrapped}}}
		s.want(partURL, "1", "1", "a")
		a.want("1")
		// A resource that can't be told from others, and one of another type.
		s.responses <- &discoveryv3.DiscoveryResponse{TypeUrl: partURL, VersionInfo: "2", Nonce: "2", Resources: []*anypb.Any{
			{TypeUrl: partURL, Value: []byte{0xff}}, thing(wholeURL, "a", "1"), {TypeUrl: wrapperURL}, thing(partURL, "a", "2"),
		}}
		if r := s.want(partURL, "1", "2", "a"); !strings.Contains(r.ErrorDetail.GetMessage(), "resource 1: is of type") {
			t.Errorf("%v", r.ErrorDetail)
		}
		a.want("2")
		// A type that nobody has asked for is left alone.
		s.send(wholeURL, "1", "3", "a=1")
		s.quiet()
	})
}

func TestA53Deletion(t *testing.T) {
	for _, tt := range []struct {
		name, features string
		want, back     []string
		config         Config
	}{
		{"dropped", "", []string{"none"}, []string{"1"}, Config{}},
		{"ignored", `,"server_features":["ignore_resource_deletion"]`, nil, nil, Config{}},
		{"A88", "", []string{"ambient"}, []string{"ambient over"}, Config{DataErrors: true}},
		{"A88 fail", `,"server_features":["fail_on_data_errors"]`, []string{"none"}, []string{"1"}, Config{DataErrors: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, one(tt.features), tt.config, func(w *world) {
				a, _ := w.watch(wholes, "a")
				b, _ := w.watch(wholes, "b")
				p, _ := w.watch(parts, "p")
				s := w.planes["p"].next()
				synctest.Wait()
				for len(s.requests) > 0 {
					<-s.requests
				}
				s.send(wholeURL, "1", "1", "a=1", "b=2")
				s.send(partURL, "1", "1", "p=1")
				a.want("1")
				b.want("2")
				p.want("1")
				for range 2 {
					s.send(wholeURL, "2", "2", "b=2")
					s.send(partURL, "2", "2") // says nothing of p
					a.want(tt.want...)
					tt.want = nil
				}
				b.want()
				p.want()
				s.send(wholeURL, "3", "3", "b=2", "a=1")
				a.want(tt.back...)
				b.want()
			})
		})
	}
}

func TestA57ResourceTimer(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		w.planes["p"].setDown(true)
		a, _ := w.watch(parts, "a")
		a.want(`error control plane p (insecure) can't be reached: connection refused`)
		time.Sleep(20 * time.Second) // the time does not run without a stream
		a.want()
		w.planes["p"].setDown(false)
		time.Sleep(20 * time.Second)
		s := w.planes["p"].next()
		s.want(partURL, "", "", "a")
		a.want()
		close(s.end) // the stream ends without an answer: the time begins anew
		a.want("error control plane p (insecure) can't be reached: EOF")
		time.Sleep(33 * time.Second)
		w.planes["p"].next().want(partURL, "", "", "a")
		time.Sleep(13 * time.Second)
		a.want()
		time.Sleep(2 * time.Second)
		a.want("none")
	})
}

// TestLoggerMayUseClient has a logger that asks the client for what operators look at.
func TestLoggerMayUseClient(t *testing.T) {
	l := &askingLogger{}
	inWorld(t, one(""), Config{Logger: l}, func(w *world) {
		l.client = w.Client
		w.planes["p"].setDown(true)
		a, _ := w.watch(parts, "a")
		a.want("error control plane p (insecure) can't be reached: connection refused")
		if want := "p (insecure) can't be reached: connection refused"; len(l.lines) != 1 || l.lines[0] != want {
			t.Errorf("logged %q, want %q", l.lines, want)
		}
	})
}

type askingLogger struct {
	grpclog.DepthLoggerV2
	client *Client
	lines  []string
}

func (l *askingLogger) WarningDepth(_ int, args ...any) {
	l.client.Servers()
	l.lines = append(l.lines, fmt.Sprint(args...))
}

func TestA57TimerOnce(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		a, _ := w.watch(parts, "a")
		b, _ := w.watch(parts, "b")
		s := w.planes["p"].next()
		synctest.Wait()
		s.send(partURL, "1", "1", "b=1")
		b.want("1")
		time.Sleep(15*time.Second - 1)
		a.want()
		time.Sleep(2 * time.Nanosecond)
		a.want("none")
		late, _ := w.watch(parts, "a")
		late.want("none")
		if r := w.Resources(); len(r) != 2 {
			t.Errorf("%v", r)
		}
		// The stream ends: neither is asked about again in that way.
		close(s.end)
		time.Sleep(2 * time.Second)
		s = w.planes["p"].next()
		s.want(partURL, "", "", "a", "b") // without a version: the client does not have a
		time.Sleep(time.Minute)
		a.want()
		b.want()
		s.send(partURL, "2", "1", "a=1")
		a.want("1")
	})
}

func TestA88Timer(t *testing.T) {
	inWorld(t, one(`,"server_features":["resource_timer_is_transient_error"]`), Config{DataErrors: true}, func(w *world) {
		a, _ := w.watch(parts, "a")
		w.planes["p"].next()
		time.Sleep(30*time.Second - 1)
		a.want()
		time.Sleep(2 * time.Nanosecond)
		a.want(`error Thing "a" did not come within 30s: the control plane is slow`)
		if r := w.Resources(); r[0].State != TimedOut {
			t.Errorf("%+v", r)
		}
	})
}

func TestA88NACK(t *testing.T) {
	inWorld(t, one(`,"server_features":["fail_on_data_errors"]`), Config{DataErrors: true}, func(w *world) {
		a, _ := w.watch(parts, "a")
		s := w.planes["p"].next()
		s.want(partURL, "", "", "a")
		s.send(partURL, "1", "1", "a=bad")
		s.want(partURL, "", "1", "a")
		a.want("error Thing")
		s.send(partURL, "2", "2", "a=1")
		a.want("1")
		s.send(partURL, "3", "3", "a=bad")
		a.want("error Thing")
		if r := w.Resources(); r[0].State != NACKed || r[0].Raw != nil || r[0].ErrVersion != "3" {
			t.Errorf("%+v", r)
		}
		s.send(partURL, "4", "4", "a=1")
		a.want("1")
	})
}

func TestA88ServerErrors(t *testing.T) {
	send := func(s *planeStream, code codes.Code) {
		s.responses <- &discoveryv3.DiscoveryResponse{TypeUrl: partURL, VersionInfo: "9", Nonce: "9", ResourceErrors: []*discoveryv3.ResourceError{
			{ResourceName: &discoveryv3.ResourceName{Name: "a"}, ErrorDetail: &status.Status{Code: int32(code), Message: "why"}},
		}}
	}
	for _, fail := range []bool{false, true} {
		more := ""
		if fail {
			more = `,"server_features":["fail_on_data_errors"]`
		}
		inWorld(t, one(more), Config{DataErrors: true}, func(w *world) {
			a, _ := w.watch(parts, "a")
			s := w.planes["p"].next()
			synctest.Wait()
			send(s, codes.PermissionDenied)
			a.want(`error Thing "a": the control plane says: PermissionDenied: why`)
			time.Sleep(time.Minute) // it is not late
			a.want()
			s.send(partURL, "1", "1", "a=1")
			a.want("1")
			send(s, codes.Unavailable)
			a.want("ambient Thing")
			send(s, codes.NotFound)
			if fail {
				a.want("none")
			} else {
				a.want("ambient Thing")
			}
			if r := w.Resources(); r[0].State != ReceivedError || (r[0].Raw == nil) != fail {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestA57Restart(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		a, _ := w.watch(parts, "a")
		s := w.planes["p"].next()
		s.want(partURL, "", "", "a")
		s.send(partURL, "1", "1", "a=1")
		s.want(partURL, "1", "1", "a")
		a.want("1")
		time.Sleep(time.Hour)
		close(s.end) // no error: it has answered
		s = w.planes["p"].next()
		if r := s.want(partURL, "1", "", "a"); r.Node == nil {
			t.Error("no node")
		}
		a.want()
		close(s.end) // one now
		a.want("ambient control plane p (insecure) can't be reached: EOF")
		w.planes["p"].none() // there is a pause
		time.Sleep(time.Second)
		s = w.planes["p"].next()
		s.send(partURL, "1", "1", "a=1")
		a.want("ambient over")
		// A stream that ends after each answer does not keep the client busy.
		for range 5 {
			close(s.end)
			w.planes["p"].none()
			time.Sleep(time.Second)
			s = w.planes["p"].next()
			s.send(partURL, "1", "1", "a=1")
			a.want()
		}
		if got := w.metrics.m["p failure"]; got != 1 {
			t.Errorf("%d failures", got)
		}
	})
}

// TestA78Failures: a server begins healthy, so a first failure counts though nothing has worked; those that follow do not.
func TestA78Failures(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		p := w.planes["p"]
		p.setDown(true)
		a, _ := w.watch(parts, "a")
		a.want("error control plane p (insecure) can't be reached: connection refused")
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := w.metrics.m["p failure"]; got != 1 {
			t.Errorf("%d failures of a server that was never there", got)
		}
		p.setDown(false)
		time.Sleep(time.Hour)
		s := p.next()
		s.send(partURL, "1", "1", "a=1")
		a.want("none", "1") // it took long
		close(s.end)
		synctest.Wait()
		p.setDown(true)
		close(p.next().end)
		synctest.Wait()
		if got := w.metrics.m["p failure"]; got != 2 {
			t.Errorf("%d failures", got)
		}
	})
}

func TestA71Fallback(t *testing.T) {
	inWorld(t, two(), Config{}, func(w *world) {
		p, q := w.planes["p"], w.planes["q"]
		a, _ := w.watch(parts, "a")
		s := p.next()
		synctest.Wait()
		s.send(partURL, "1", "1", "a=p1")
		a.want("p1")
		q.none()

		p.setDown(true)
		close(s.end)
		time.Sleep(time.Minute) // all is cached: no fallback, and nobody is told
		a.want()
		q.none()

		b, cancelB := w.watch(parts, "b") // something is not
		f := q.next()
		f.want(partURL, "", "", "a", "b")
		f.send(partURL, "7", "7", "a=q1", "b=q1")
		a.want("q1")
		b.want("q1")

		p.setDown(false) // back, with a pause
		time.Sleep(2 * time.Minute)
		s = p.next()
		s.want(partURL, "", "", "a", "b") // without a version: what the client has is q's
		a.want()
		if f.ctx.Err() != nil {
			t.Error("the fallback ends too early")
		}
		s.send(partURL, "2", "1", "a=p1", "b=p1")
		a.want("p1")
		b.want("p1")
		synctest.Wait()
		if f.ctx.Err() == nil || q.closed != 1 {
			t.Error("the fallback stays")
		}
		cancelB()

		// Both are down: only then are watchers told.
		p.setDown(true)
		q.setDown(true)
		close(s.end)
		c, _ := w.watch(parts, "c")
		time.Sleep(5 * time.Minute)
		c.want("error control plane q (insecure) can't be reached")
		a.want("ambient control plane q (insecure) can't be reached")
	})
}

func TestA47Federation(t *testing.T) {
	config := `{"xds_servers":[` + serverText("p", "") + `],"authorities":{"x":{"xds_servers":[` + serverText("q", "") + `]},"y":{},"":{"xds_servers":[` + serverText("q", "") + `]}}}`
	inWorld(t, config, Config{}, func(w *world) {
		_, cancel := w.watch(parts, "plain")
		x, cancelX := w.watch(parts, "xdstp://x/type/id?b=2&a=1&b=3")
		_, cancelY := w.watch(parts, "xdstp://y/type/id")
		empty, cancelEmpty := w.watch(parts, "xdstp:///type/id")
		p, q := w.planes["p"].next(), w.planes["q"].next()
		synctest.Wait()
		w.planes["p"].none() // one stream, though two authorities
		w.planes["q"].none()
		q.send(partURL, "1", "1", "xdstp://x/type/id?b=3&a=1=1")
		_ = p
		none, _ := w.watch(parts, "xdstp://z/type/id")
		none.want(`error authority "z" is not in the bootstrap configuration`)
		broken, _ := w.watch(parts, "xdstp://[/type")
		broken.want(`error resource name`)
		q.send(partURL, "2", "2", "xdstp:///type/id=2")
		empty.want("2")
		x.want()
		for _, f := range []func(){cancel, cancelX, cancelY, cancelEmpty} {
			f()
		}
		synctest.Wait()
		if w.planes["p"].closed != 1 || w.planes["q"].closed != 1 {
			t.Error("connections stay")
		}
	})
}

func TestA47Names(t *testing.T) {
	for name, want := range map[string]string{
		"plain?b=2&a=1":             "plain?b=2&a=1",
		"xdstp://x/t/id":            "xdstp://x/t/id",
		"xdstp://x/t/id?b=2&a=1":    "xdstp://x/t/id?a=1&b=2",
		"xdstp://x/t/id?a=1&b=2":    "xdstp://x/t/id?a=1&b=2",
		"xdstp://x/t/id?a=1&a=2":    "xdstp://x/t/id?a=2",
		"xdstp://x/t/id?b=1&a#frag": "xdstp://x/t/id?a&b=1#frag",
	} {
		_, got, err := parseName(name)
		if got != want || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestWatchersMayWatchAndCancel(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		a := &seen{t: t}
		b := &seen{t: t}
		var cancel func()
		a.hook = func() {
			Watch(w.Client, parts, "b", b)
			cancel()
		}
		cancel = Watch(w.Client, parts, "a", a)
		s := w.planes["p"].next()
		synctest.Wait()
		s.send(partURL, "1", "1", "a=1")
		a.want("1")
		s.send(partURL, "1", "2", "b=2")
		b.want("2")
	})
}

func TestBackPressure(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		a := &seen{t: t}
		hold := make(chan struct{})
		a.hook = func() { <-hold }
		Watch(w.Client, parts, "a", a)
		s := w.planes["p"].next()
		synctest.Wait()
		for range 3 {
			s.send(partURL, "1", "1", "a=1")
		}
		synctest.Wait()
		if len(s.responses) != 2 {
			t.Errorf("%d responses are left; a slow watcher does not slow the stream down", len(s.responses))
		}
		close(hold)
		a.want("1")
	})
}

func TestClosed(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		_, cancel := w.watch(parts, "a")
		w.planes["p"].next()
		w.Close()
		cancel()
		late, _ := w.watch(parts, "a")
		late.want()
	})
}

// FuzzNames: a name is spelled in one way only, and that is its own spelling.
func FuzzNames(f *testing.F) {
	f.Add("xdstp://a/envoy.config.listener.v3.Listener/x?b=2&a=1&a=3#f", []byte("\x0a\x01n"))
	f.Add("plain", []byte{})
	f.Fuzz(func(t *testing.T, name string, raw []byte) {
		key, one, err := parseName(name)
		if err == nil {
			if again, two, err := parseName(one); err != nil || again != key || two != one {
				t.Errorf("%q becomes %q, and that %q (%v)", name, one, two, err)
			}
		}
		_, _ = resourceName(raw)
	})
}

// TestAskedForWhileRead: a response may have a resource that is asked for while it is read. It is not
// taken from there, and so must not be acknowledged: the server would not send it again.
func TestAskedForWhileRead(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		reading, goOn := make(chan struct{}), make(chan struct{})
		slow := newType(partURL, false, nil)
		decode := slow.Decode
		slow.Decode = func(from *bootstrap.Server, raw []byte) (string, error) {
			reading <- struct{}{}
			<-goOn
			return decode(from, raw)
		}
		a, b, again := &seen{t: t}, &seen{t: t}, &seen{t: t}
		cancelA := Watch(w.Client, slow, "a", a)
		s := w.planes["p"].next()
		s.want(partURL, "", "", "a")
		s.send(partURL, "1", "1", "a=1", "b=1")
		<-reading
		cancelB := Watch(w.Client, slow, "b", b)
		s.want(partURL, "", "", "a", "b") // the server does not look at it: it has answered since
		goOn <- struct{}{}
		s.want(partURL, "1", "1", "a")
		s.want(partURL, "1", "1", "a", "b")
		s.send(partURL, "1", "2", "b=1")
		<-reading
		cancelA() // and wanted again at once
		cancelA = Watch(w.Client, slow, "a", again)
		goOn <- struct{}{}
		synctest.Wait()
		for len(s.requests) > 2 { // how many there are before the answer is read is chance
			<-s.requests
		}
		s.want(partURL, "1", "2", "b")
		s.want(partURL, "1", "2", "a", "b")
		s.quiet()
		a.want("1")
		b.want("1")
		cancelA()
		cancelB()
	})
}
