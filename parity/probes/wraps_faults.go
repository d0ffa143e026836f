// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// faulty is a wrapper whose Read and Write fail once they are told to.
type faulty struct {
	*tapConn
	mu    sync.Mutex
	read  error
	along bool // the error comes with the next bytes, else after them
	due   bool
	write func(to net.Conn, p []byte) (int, error)
}

// fault is what a Read is to return beside the bytes it has, or in place of any.
func (f *faulty) fault(before bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read == nil || before && !f.due {
		return nil
	}
	if !before && !f.along {
		f.due = true
		return nil
	}
	return f.read
}

func (f *faulty) Read(p []byte) (int, error) {
	if err := f.fault(true); err != nil {
		return 0, err
	}
	n, err := f.TCPConn.Read(p)
	if err == nil {
		err = f.fault(false)
	}
	return n, err
}

func (f *faulty) Write(p []byte) (int, error) {
	f.mu.Lock()
	write := f.write
	f.mu.Unlock()
	if write != nil {
		return write(f.TCPConn, p)
	}
	return f.TCPConn.Write(p)
}

// failReads has the Read fail that has the next bytes, or the one after it.
func (f *faulty) failReads(err error, along bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read, f.along = err, along
}

func (f *faulty) failWrites(write func(net.Conn, []byte) (int, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.write = write
}

// faults makes wrappers that are faulty, of which it keeps the first.
type faults struct{ first *faulty }

func (f *faults) wrap(t *tapConn) net.Conn {
	c := &faulty{tapConn: t}
	if f.first == nil {
		f.first = c
	}
	return c
}

// timeoutError is one of a wrapper's own.
type timeoutError struct{}

func (timeoutError) Error() string   { return "took too long" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

var wrapErrors = []struct {
	name string
	err  error
}{
	{"EOF", io.EOF},
	{"unexpected EOF", io.ErrUnexpectedEOF},
	{"closed", net.ErrClosed},
	{"closed pipe", io.ErrClosedPipe},
	{"deadline", os.ErrDeadlineExceeded},
	{"timeout of its own", timeoutError{}},
	{"canceled", context.Canceled},
	{"error of its own", errors.New("out of order")},
	{"status", status.Error(codes.PermissionDenied, "not you")},
	{"temporary", temporary{}},
}

// wholeReply is all that a server says to a request, in one write.
func wholeReply(r *rig.Raw, req rig.Request) []byte {
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: req.ID, BlockFragment: r.Block(ok()...), EndHeaders: true})
	_ = fr.WriteData(req.ID, false, reply)
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: req.ID, BlockFragment: r.Block("grpc-status", "0"), EndHeaders: true, EndStream: true})
	return b.Bytes()
}

// readFault is when a Read of the client's wrapper fails.
type readFault struct {
	name  string
	reply bool // the server has replied
	along bool // the error comes with the bytes
}

var readFaults = []readFault{
	{"with the reply", true, true},
	{"after the reply", true, false},
	{"with a PING in place of the reply", false, true},
	{"in place of the reply", false, false},
}

// writeFaults are what may become of a Write.
var writeFaults = []struct {
	name  string
	write func(to net.Conn, p []byte) (int, error)
}{
	{"error of its own", func(net.Conn, []byte) (int, error) { return 0, errors.New("out of order") }},
	{"all, and an error", func(to net.Conn, p []byte) (int, error) {
		n, _ := to.Write(p)
		return n, errors.New("out of order")
	}},
}

// wrapFaultProbes are of wrappers that fail.
func wrapFaultProbes() []probe.Probe {
	var out []probe.Probe
	for i, e := range wrapErrors {
		for _, when := range readFaults {
			if !when.along && i > 0 {
				continue // it does not depend on the error
			}
			// Where the Read is repeated the probe waits for several things, each until its process is quiet.
			repeated := errors.Is(e.err, os.ErrDeadlineExceeded)
			out = append(out, probe.Probe{Name: "Read fails/client, " + when.name + "/" + e.name, Alone: repeated, Run: func(p *probe.P) {
				readFails(p, when, e.err)
			}})
		}
	}
	out = append(out, probe.Probe{Name: "Read fails/server", Run: func(p *probe.P) { serverReadFails(p, io.EOF) }})
	for _, f := range writeFaults {
		out = append(out,
			probe.Probe{Name: "Write fails/client/" + f.name, Run: func(p *probe.P) { writeFails(p, f.write, true) }},
			probe.Probe{Name: "Write fails/server/" + f.name, Run: func(p *probe.P) { writeFails(p, f.write, false) }},
		)
	}
	return out
}

// readFails has the client's wrapper fail when a request was sent.
func readFails(p *probe.P, when readFault, fault error) {
	var mine tapped
	var wrappers faults
	var once sync.Once
	addr := rig.RawServer(p, func(r *rig.Raw) {
		for {
			req, err := r.AcceptAll()
			if err != nil {
				return
			}
			replies := true
			once.Do(func() {
				probe.Settle(moment / 4) // until acknowledgements were read
				wrappers.first.failReads(fault, when.along)
				replies = when.reply
			})
			if replies {
				_, _ = r.Conn.Write(wholeReply(r, req))
			} else {
				_ = r.WritePing(false, [8]byte{1})
			}
		}
	})
	cc := channelTo(p, addr, quick, grpc.WithContextDialer(mine.dial(wrappers.wrap)))
	// Where the Read is repeated no reply comes: two waits and closed's must fit the probe's limit.
	brief := func(opts ...grpc.CallOption) string {
		ctx, cancel := probe.WithTimeout(p.Context(), probe.Limit/4)
		defer cancel()
		return call(ctx, cc, opts...)
	}
	p.Printf("%s", brief())
	p.Printf("%s", mine.closed())
	p.Printf("%s", brief(grpc.WaitForReady(true)))
}

// serverReadFails has the server's wrapper fail while a stream is open.
func serverReadFails(p *probe.P, fault error) {
	var wrappers faults
	w := startWrapped(p, wrappers.wrap, asIs)
	r := rig.RawClient(p, w.Target())
	r.Path = rig.Bidi
	r.Headers(1, false, rig.RequestFields()...)
	_ = r.WriteData(1, false, rig.Message("x"))
	probe.Settle(moment / 2)
	wrappers.first.failReads(fault, false)
	_ = r.WritePing(false, [8]byte{1})
	p.Printf("handler: %s", w.handler())
	r.Print(p, 1)
	p.Printf("%s", w.theirs.closed())
}

// startAt is startWrapped with a wrapper at one end.
func startAt(p *probe.P, wrap func(*tapConn) net.Conn, onClient bool) (w *wrapped, end *tapped) {
	if onClient {
		w = startWrapped(p, asIs, wrap)
		return w, w.mine
	}
	w = startWrapped(p, wrap, asIs)
	return w, w.theirs
}

// writeFails has Writes of a wrapper fail after a call.
func writeFails(p *probe.P, write func(net.Conn, []byte) (int, error), onClient bool) {
	var wrappers faults
	w, at := startAt(p, wrappers.wrap, onClient)
	p.Printf("%s", call(p.Context(), w))
	probe.Settle(moment / 4) // until acknowledgements were written
	wrappers.first.failWrites(write)
	p.Printf("%s", lossOf(call(p.Context(), w)))
	p.Printf("%s", at.closed())
	p.Printf("%s", w.further(p))
}

// addressed has addresses of its own.
type addressed struct {
	*tapConn
	local, remote net.Addr
}

func (a *addressed) LocalAddr() net.Addr  { return a.local }
func (a *addressed) RemoteAddr() net.Addr { return a.remote }

type textAddr string

func (textAddr) Network() string  { return "text" }
func (a textAddr) String() string { return string(a) }

// printPeer prints the addresses of a peer.
func printPeer(p *probe.P, who string, of *peer.Peer) {
	p.Printf("%s: %v (%T) from %v (%T), %T", who, of.Addr, of.Addr, of.LocalAddr, of.LocalAddr, of.AuthInfo)
}

// wrapMiscProbes are of addresses, listeners, deadlines, and Closes that fail.
var wrapMiscProbes = []probe.Probe{
	{Name: "addresses of the server's wrapper", Run: func(p *probe.P) {
		printAddresses(p, func(t *tapConn) net.Conn { return &addressed{t, textAddr("here"), textAddr("there")} }, asIs)
	}},
	{Name: "addresses of the client's wrapper", Run: func(p *probe.P) {
		printAddresses(p, asIs, func(t *tapConn) net.Conn { return &addressed{t, textAddr("here"), textAddr("there")} })
	}},
	{Name: "addresses of TLS of the program", Run: func(p *probe.P) { printAddresses(p, wrapServerTLS, wrapClientTLS) }},
	{Name: "Closes of a listener", Limit: 30 * time.Second, Run: func(p *probe.P) {
		for _, stop := range []string{"Stop", "GracefulStop", "both"} {
			w := startWrapped(p, asIs, asIs)
			p.Printf("%s", call(p.Context(), w))
			if stop != "Stop" {
				w.server.GracefulStop()
			}
			if stop != "GracefulStop" {
				w.server.Stop()
			}
			p.Printf("%s: the listener is %s, Serve has returned %s", stop, w.listener.closed(), rig.Err(<-w.served))
			p.Printf("the server's is %s, the channel's %s", w.theirs.closed(), w.mine.closed())
		}
	}},
	{Name: "Close fails", Run: func(p *probe.P) {
		for _, onClient := range []bool{false, true} {
			w, _ := startAt(p, func(t *tapConn) net.Conn { return &closeFails{t} }, onClient)
			s := w.open(p.Context(), p)
			p.Printf("%s", rig.Err(w.Close()))
			p.Printf("%s", receive(s)())
			p.Printf("handler: %s", w.handler())
			w.server.Stop()
			p.Printf("the server's is %s, the channel's %s", w.theirs.closed(), w.mine.closed())
		}
	}},
	{Name: "deadlines that wrappers are told", Run: func(p *probe.P) {
		for _, onClient := range []bool{false, true} {
			notes := new(journal)
			w, _ := startAt(p, func(t *tapConn) net.Conn { return &noted{t, notes} }, onClient)
			p.Printf("on the client %t: %s", onClient, call(p.Context(), w))
			probe.Settle(0)
			notes.print(p)
		}
	}},
	{Name: "Read panics", Alone: true, Run: func(p *probe.P) {
		w := startWrapped(p, func(t *tapConn) net.Conn { return &panics{tapConn: t, read: true} }, asIs)
		p.Printf("%s", call(p.Context(), w))
	}},
	{Name: "Write panics", Alone: true, Run: func(p *probe.P) {
		w := startWrapped(p, func(t *tapConn) net.Conn { return &panics{tapConn: t, write: true} }, asIs)
		p.Printf("%s", call(p.Context(), w))
	}},
}

// printAddresses prints what both ends know of each other.
func printAddresses(p *probe.P, onServer, onClient func(*tapConn) net.Conn) {
	rec := newRecorder()
	w := startWrapped(p, onServer, onClient, grpc.WithStatsHandler(rec))
	var of peer.Peer
	out := new(rig.Msg)
	err := w.Invoke(p.Context(), rig.Unary, rig.M("q"), out, grpc.Peer(&of))
	p.Printf("%s", rig.Err(err))
	if err != nil {
		return
	}
	printPeer(p, "client", &of)
	p.Printf("%s", <-w.peers)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	for _, line := range rec.conns {
		p.Printf("%s", line)
	}
}

type closeFails struct{ *tapConn }

func (c *closeFails) Close() error {
	_ = c.tapConn.Close()
	return errors.New("would not close")
}

// noted notes what deadlines it is told.
type noted struct {
	*tapConn
	notes *journal
}

func (n *noted) note(what string, t time.Time) {
	when := "to come"
	switch {
	case t.IsZero():
		when = "none"
	case time.Until(t) < 0:
		when = "over"
	}
	n.notes.add("%s: %s", what, when)
}

func (n *noted) SetDeadline(t time.Time) error {
	n.note("SetDeadline", t)
	return n.tapConn.SetDeadline(t)
}

func (n *noted) SetReadDeadline(t time.Time) error {
	n.note("SetReadDeadline", t)
	return n.tapConn.SetReadDeadline(t)
}

func (n *noted) SetWriteDeadline(t time.Time) error {
	n.note("SetWriteDeadline", t)
	return n.tapConn.SetWriteDeadline(t)
}

type panics struct {
	*tapConn
	read, write bool
}

func (c *panics) Read(p []byte) (int, error) {
	if c.read {
		panic("no Read")
	}
	return c.TCPConn.Read(p)
}

func (c *panics) Write(p []byte) (int, error) {
	if c.write {
		panic("no Write")
	}
	return c.TCPConn.Write(p)
}
