// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/grpc/connectivity"
)

// withOn runs a test with channelz on, and an empty registry.
func withOn(t *testing.T) {
	t.Helper()
	TurnOn()
	t.Cleanup(func() {
		on.Store(false)
		entries.mu.Lock()
		defer entries.mu.Unlock()
		if len(entries.nodes)+len(entries.sockets) > 0 {
			t.Errorf("left: %d nodes, %d sockets", len(entries.nodes), len(entries.sockets))
		}
	})
}

type source struct{ addr net.Addr }

func (s source) ChannelzSocket() SocketData { return SocketData{LocalAddr: s.addr} }

func TestOff(t *testing.T) {
	n := NewNode(nil, Channel, "x")
	s := NewSocket(n, Connection, source{})
	if n != nil || s != nil || IsOn() {
		t.Fatalf("while off: %v, %v", n, s)
	}
	allocs := testing.AllocsPerRun(100, func() {
		n.SetState(connectivity.Ready)
		n.CallStarted()
		n.CallEnded(nil)
		n.Trace(Info, "x", n)
		n.Close()
		s.Close()
	})
	if allocs != 0 {
		t.Errorf("%v allocations while off", allocs)
	}
	for _, id := range []Identifier{n, s} {
		if id.String() != "" {
			t.Errorf("%q", id.String())
		}
	}
	if n.ID() != 0 || s.ID() != 0 {
		t.Error("nil has a number")
	}
	if list, last := TopChannels(Page{}); list != nil || !last {
		t.Errorf("%v, %t", list, last)
	}
}

func TestTree(t *testing.T) {
	withOn(t)
	top := NewNode(nil, Channel, "dns:///x")
	defer top.Close()
	nested := NewNode(top, Channel, "lb")
	defer nested.Close()
	sub := NewNode(top, Subchannel, "10.0.0.1:1")
	defer sub.Close()
	conn := NewSocket(sub, Connection, source{&net.UnixAddr{Name: "here"}})
	defer conn.Close()

	list, last := TopChannels(Page{})
	if len(list) != 1 || !last {
		t.Fatalf("top channels %v, %t", list, last)
	}
	d := list[0]
	want := []Ref{{Channel, nested.ID(), "lb"}, {Subchannel, sub.ID(), "10.0.0.1:1"}}
	if d.Name != "dns:///x" || d.Parent != 0 || !slices.Equal(d.Children, want) || d.Sockets != nil {
		t.Errorf("top channel %+v", d)
	}
	d, ok := NodeByID(Subchannel, sub.ID())
	if !ok || d.Parent != top.ID() || len(d.Sockets) != 1 || d.Sockets[0].ID != conn.ID() {
		t.Errorf("subchannel %+v, %t", d, ok)
	}
	if _, ok := NodeByID(Channel, sub.ID()); ok {
		t.Error("a subchannel is found as a channel")
	}
	if s := SocketByID(conn.ID()); s != conn || s.Data().LocalAddr.String() != "here" {
		t.Errorf("socket %v", s)
	}
	if got, want := sub.String()+", "+conn.String(), fmt.Sprintf("Subchannel #%d, Socket #%d", sub.ID(), conn.ID()); got != want {
		t.Errorf("%q, want %q", got, want)
	}

	conn.Close()
	sub.Close()
	sub.Close()
	if d, ok := NodeByID(Subchannel, sub.ID()); !ok || d.State != connectivity.Shutdown || SocketByID(conn.ID()) != nil {
		t.Errorf("of what was closed, the subchannel alone is to be found: %+v, %t", d, ok)
	}
	var texts []string
	d, _ = NodeByID(Channel, top.ID())
	if len(d.Children) != 1 {
		t.Errorf("children %v of which one is closed", d.Children)
	}
	for _, e := range d.Trace.Events {
		texts = append(texts, e.Text)
	}
	if got, want := strings.Join(texts, "; "), fmt.Sprintf(`Channel created for target "dns:///x"; Channel(id:%d) created; Subchannel(id:%d) created; Subchannel(id:%[2]d) deleted`, nested.ID(), sub.ID()); got != want {
		t.Errorf("trace %q, want %q", got, want)
	}
}

// TestClosedWhileNamed has what was closed go with the last event that names it: when newer
// ones have taken their places, or with the trace they are in.
func TestClosedWhileNamed(t *testing.T) {
	withOn(t)
	top := NewNode(nil, Channel, "x")
	nested := NewNode(top, Channel, "lb")
	var subs []*Node
	for _, parent := range []*Node{top, nested} {
		sub := NewNode(parent, Subchannel, "10.0.0.1:1")
		sub.Close()
		subs = append(subs, sub)
	}
	there := func(n *Node) bool {
		_, ok := NodeByID(n.kind, n.ID())
		return ok
	}
	nested.Close()
	if !there(nested) || !there(subs[0]) || !there(subs[1]) {
		t.Error("what a trace names is not there")
	}
	for range maxTraceEvents {
		top.Trace(Info, "something else", nil)
	}
	if there(nested) || there(subs[0]) || there(subs[1]) {
		t.Error("what nothing names any more is there")
	}
	late := NewNode(top, Subchannel, "10.0.0.1:1")
	for range maxTraceEvents {
		top.Trace(Info, "something else", nil)
	}
	if !there(late) {
		t.Error("an open subchannel goes with the events that name it")
	}
	top.Close()
	late.Close()
	if there(top) || there(late) {
		t.Error("a closed channel, or what was closed after it, is there")
	}
}

func TestServerPages(t *testing.T) {
	withOn(t)
	srv := NewNode(nil, Server, "")
	defer srv.Close()
	listener := NewSocket(srv, Listener, source{})
	defer listener.Close()
	var ids []int64
	for range 120 {
		s := NewSocket(srv, Connection, source{})
		defer s.Close()
		ids = append(ids, s.ID())
	}
	if list, last := Servers(Page{}); len(list) != 1 || !last || len(list[0].Sockets) != 1 || list[0].Sockets[0].Kind != Listener {
		t.Errorf("servers %+v, %t", list, last)
	}
	for _, limit := range []int{0, 7, 50, 60, 120, 500} {
		var got []int64
		for from, last := int64(0), false; !last; {
			var page []Ref
			page, last = ServerSockets(srv.ID(), Page{From: from, Limit: limit})
			if len(page) == 0 || limit > 0 && len(page) > limit || len(page) > 50 && limit <= 0 {
				t.Fatalf("limit %d: a page of %d", limit, len(page))
			}
			for _, s := range page {
				got = append(got, s.ID)
			}
			from = got[len(got)-1] + 1
		}
		if !slices.Equal(got, ids) {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
	if list, last := ServerSockets(listener.ID(), Page{}); list != nil || !last {
		t.Error("sockets of what is no server")
	}
}

func TestCallsAndState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		withOn(t)
		n := NewNode(nil, Channel, "x")
		defer n.Close()
		if d, _ := NodeByID(Channel, n.ID()); !d.LastCallStarted.IsZero() || d.State != connectivity.Idle {
			t.Errorf("new: %+v", d)
		}
		time.Sleep(time.Second)
		n.CallStarted()
		n.CallStarted()
		n.CallStarted()
		n.CallEnded(nil)
		n.CallEnded(errors.New("x"))
		n.SetState(connectivity.Ready)
		n.SetState(connectivity.Ready)
		d, _ := NodeByID(Channel, n.ID())
		if d.CallsStarted != 3 || d.CallsSucceeded != 1 || d.CallsFailed != 1 || !d.LastCallStarted.Equal(time.Now()) {
			t.Errorf("calls: %+v", d)
		}
		if d.State != connectivity.Ready || d.Trace.Logged != 2 {
			t.Errorf("state %v, trace %+v", d.State, d.Trace)
		}
	})
}

func TestTraceIsBounded(t *testing.T) {
	var ring trace
	for i := range 100 {
		ring.add(TraceEvent{Text: fmt.Sprint(i)})
		c := ring.copy()
		first := max(0, i+1-maxTraceEvents)
		if c.Logged != int64(i+1) || len(c.Events) != i+1-first {
			t.Fatalf("after %d: %d logged, %d kept", i+1, c.Logged, len(c.Events))
		}
		for j, e := range c.Events {
			if e.Text != fmt.Sprint(first+j) {
				t.Fatalf("after %d: event %d is %s", i+1, j, e.Text)
			}
		}
	}
}

func TestTraceTextIsBounded(t *testing.T) {
	for _, n := range []int{0, 10, maxTraceText, maxTraceText + 1, 1 << 20} {
		text := strings.Repeat("ä", n/2+1)
		got := clip(text)
		if len(got) > maxTraceText+len("...") || len(text) <= maxTraceText && got != text || !utf8.ValidString(got) {
			t.Errorf("of %d bytes %d are kept", len(text), len(got))
		}
	}
	if got := clip("a\xffb"); got != "a\ufffdb" {
		t.Errorf("bytes that are no text: %q", got)
	}
}

func TestSocketIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Socket{}); size > 48 {
		t.Errorf("%d bytes", size)
	}
}

func TestConcurrentUse(t *testing.T) {
	withOn(t)
	srv := NewNode(nil, Server, "")
	defer srv.Close()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				s := NewSocket(srv, Connection, source{})
				srv.CallStarted()
				srv.Trace(Info, "x", nil)
				Servers(Page{})
				ServerSockets(srv.ID(), Page{})
				SocketByID(s.ID()).Data()
				srv.CallEnded(nil)
				s.Close()
			}
		})
	}
	all.Wait()
}

func TestKindString(t *testing.T) {
	for k, want := range map[Kind]string{Channel: "Channel", Connection: "Socket", 99: "Kind(99)"} {
		if got := k.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
