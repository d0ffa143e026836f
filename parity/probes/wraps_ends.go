// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// wrapEnding is an end of a connection on which a stream is open.
type wrapEnding struct {
	name string
	do   func(*wrapped)
	at   string // the end where it happens
	last bool   // there is no further call
	// own says that nothing comes from the other end then: see wrapEndProbes.
	own bool
	// deadline says that it is none, but a deadline.
	deadline bool
}

// either makes two of an ending that one of both ends has.
func either(name string, do func(conn net.Conn, sock *net.TCPConn)) []wrapEnding {
	of := func(end func(*wrapped) *tapped) func(*wrapped) {
		return func(w *wrapped) { do(end(w).first()) }
	}
	return []wrapEnding{
		{name: name + " on the server", at: "server", own: true, do: of(func(w *wrapped) *tapped { return w.theirs })},
		{name: name + " on the client", at: "client", own: true, do: of(func(w *wrapped) *tapped { return w.mine })},
	}
}

// wrapEndings are all of them.
func wrapEndings() []wrapEnding {
	all := []wrapEnding{
		{name: "Stop", at: "server", do: func(w *wrapped) { w.server.Stop() }, last: true},
		{name: "Close of the channel", at: "client", do: func(w *wrapped) { _ = w.Close() }, last: true},
	}
	for _, more := range [][]wrapEnding{
		either("Close of the wrapper", func(c net.Conn, _ *net.TCPConn) { _ = c.Close() }),
		either("Close below the wrapper", func(_ net.Conn, c *net.TCPConn) { _ = c.Close() }),
		peers(either("CloseWrite below the wrapper", func(_ net.Conn, c *net.TCPConn) { _ = c.CloseWrite() })),
		either("RST", func(_ net.Conn, c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() }),
		deadlines(either("SetReadDeadline that is over", func(c net.Conn, _ *net.TCPConn) { _ = c.SetReadDeadline(time.Unix(1, 0)) })),
		deadlines(either("SetReadDeadline soon", func(c net.Conn, _ *net.TCPConn) { _ = c.SetReadDeadline(time.Now().Add(moment)) })),
		deadlines(either("SetWriteDeadline that is over", func(c net.Conn, _ *net.TCPConn) { _ = c.SetWriteDeadline(time.Unix(1, 0)) })),
	} {
		all = append(all, more...)
	}
	return all
}

// peers marks endings as not the wrapper's own: the other end takes part in them.
func peers(all []wrapEnding) []wrapEnding {
	for i := range all {
		all[i].own = false
	}
	return all
}

func deadlines(all []wrapEnding) []wrapEnding {
	for i := range all {
		all[i].deadline = true
	}
	return all
}

// wrapSide is which ends are wrapped.
type wrapSide struct {
	name               string
	onServer, onClient func(*tapConn) net.Conn
}

func (k wrapKind) sides() []wrapSide {
	client := k.client
	if client == nil {
		client = k.wrap
	}
	if k.both {
		return []wrapSide{{"both", k.wrap, client}}
	}
	return []wrapSide{{"server", k.wrap, asIs}, {"client", asIs, client}}
}

// wrapEndProbes are of how connections end that are wrapped at the server, at the client, or
// at both: at once after a message, and when they have been idle. What is known to differ, as
// nobody waits on a connection that is idle, is there for one kind.
func wrapEndProbes() []probe.Probe {
	var out []probe.Probe
	for _, k := range wrapKinds {
		for _, side := range k.sides() {
			for _, end := range wrapEndings() {
				one := k.name == "embeds" && side.name == end.at
				if one || !end.deadline && !end.own {
					out = append(out, wrapEndProbe(", busy/"+k.name, side, end, moment/10))
				}
				if one || !end.own {
					out = append(out, wrapEndProbe(", idle/"+k.name, side, end, k.calm))
				}
			}
		}
	}
	return out
}

func wrapEndProbe(name string, side wrapSide, end wrapEnding, pause time.Duration) probe.Probe {
	return probe.Probe{Name: end.name + name + ", " + side.name, Limit: 12 * time.Second, Run: func(p *probe.P) {
		startWrapped(p, side.onServer, side.onClient).end(p, side, end, pause)
	}}
}

// other is the end where it does not happen.
func (w *wrapped) other(at string) *tapped {
	if at == "server" {
		return w.mine
	}
	return w.theirs
}

// end opens a stream, waits for so long, has the connection end, and prints what is noticed.
func (w *wrapped) end(p *probe.P, side wrapSide, how wrapEnding, pause time.Duration) {
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	s := w.open(ctx, p)
	if s == nil {
		return
	}
	if pause < calm {
		time.Sleep(pause) // for a while, in which the connection is not idle
	} else {
		probe.Settle(pause)
	}
	how.do(w)
	said := make(chan string, 1)
	go func() { said <- lossOf(receive(s)()) }()
	select {
	case text := <-said:
		p.Printf("RecvMsg: %s", text)
	case <-probe.Quiet(3 * moment):
		p.Printf("RecvMsg waits; SendMsg: %s", rig.Err(s.SendMsg(rig.M("second"))))
		select {
		case text := <-said:
			p.Printf("RecvMsg: %s", text)
		case <-probe.Quiet(time.Second):
			p.Printf("RecvMsg waits")
			cancel()
			p.Printf("RecvMsg: %s", <-said)
		}
	}
	p.Printf("handler: %s", w.handler())
	if !how.last {
		p.Printf("a further call: %s", w.further(p))
	}
	_ = w.Close()
	w.server.Stop()
	p.Printf("the server's is %s, the channel's %s", w.theirs.closed(), w.mine.closed())
	if side.name != how.at {
		p.Printf("the last Read of the other end: %s", w.other(how.at).reads())
	}
}

// further makes a call that may wait for a new connection.
func (w *wrapped) further(p *probe.P) string {
	ctx, cancel := probe.WithTimeout(p.Context(), 2*time.Second)
	defer cancel()
	for s := w.GetState(); s == connectivity.Ready; s = w.GetState() {
		short, stop := probe.WithTimeout(ctx, moment)
		changed := w.WaitForStateChange(short, s)
		stop()
		if !changed {
			break // it is as good as ever
		}
	}
	return call(ctx, w, grpc.WaitForReady(true))
}

// lossOf is the error of a lost connection, without how the system says it: whether a peer
// that closes is seen to end or to reset the stream is a matter of timing.
func lossOf(text string) string {
	for _, cause := range []string{"EOF", "connection reset by peer", "broken pipe", "use of closed network connection", "i/o timeout", "io: read/write on closed pipe"} {
		if at := strings.Index(text, cause); at >= 0 {
			code, _, _ := strings.Cut(text, ":")
			switch cause {
			case "EOF", "connection reset by peer", "broken pipe":
				cause = "lost"
			}
			return code + " ... " + cause
		}
	}
	return text
}
