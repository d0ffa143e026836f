// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
)

// tapConn is what all wrappers are around: a socket that counts how often it is closed, and
// leaves Read and Write as they are.
type tapConn struct {
	*net.TCPConn
	seen *tapped
}

// tapped is what was seen of the connections of one end.
type tapped struct {
	mu       sync.Mutex
	taps     []*tapConn
	conns    []net.Conn // around them
	closes   []int
	end      chan struct{} // closed with the first connection
	lastRead []string      // what the wrapper's Read said at last
}

func (t *tapped) add(c net.Conn, wrap func(*tapConn) net.Conn) net.Conn {
	at := &tapConn{c.(*net.TCPConn), t}
	t.mu.Lock()
	t.taps = append(t.taps, at)
	t.closes = append(t.closes, 0)
	t.lastRead = append(t.lastRead, "none")
	t.mu.Unlock()
	conn := wrap(at)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns = append(t.conns, conn)
	return conn
}

// number is which one a connection is.
func (t *tapped) number(of *tapConn) int {
	for i, at := range t.taps {
		if at == of {
			return i
		}
	}
	return -1
}

// first is the first connection, and the socket below it.
func (t *tapped) first() (conn net.Conn, sock *net.TCPConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conns[0], t.taps[0].TCPConn
}

// closed says whether the first connection was closed, once it was, or after a while.
func (t *tapped) closed() string {
	quiet, stop := probe.QuietOr(time.Second)
	defer stop()
	select {
	case <-t.ended():
	case <-quiet:
	}
	if t.count() > 0 {
		return "closed"
	}
	return "open"
}

// ended is closed with the first connection.
func (t *tapped) ended() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end == nil {
		t.end = make(chan struct{})
	}
	return t.end
}

// count is how often the first connection was closed.
func (t *tapped) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.closes) == 0 {
		return 0
	}
	return t.closes[0]
}

// reads is what the wrapper's Read said at last.
func (t *tapped) reads() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lastRead[0]
}

func (t *tapConn) Close() error {
	t.seen.mu.Lock()
	n := t.seen.number(t)
	t.seen.closes[n]++
	first := n == 0 && t.seen.closes[0] == 1
	t.seen.mu.Unlock()
	if first {
		close(t.seen.ended())
	}
	return t.TCPConn.Close()
}

// read notes what a Read returned.
func (t *tapConn) read(n int, err error) (int, error) {
	t.seen.mu.Lock()
	defer t.seen.mu.Unlock()
	t.seen.lastRead[t.seen.number(t)] = kindOf(err)
	return n, err
}

// kindOf says what an error of a connection is, in words that are not the system's.
func kindOf(err error) string {
	switch {
	case err == nil:
		return "bytes"
	case err == io.EOF, err == io.ErrUnexpectedEOF, errors.Is(err, syscall.ECONNRESET):
		return "the end" // a peer that closes may reset, or not
	case errors.Is(err, net.ErrClosed):
		return "closed"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "deadline"
	}
	return err.Error()
}

// wrapKind is a kind of wrapper.
type wrapKind struct {
	name string
	// wrap is around the server's connections and client around the channel's, which is
	// the same if it is nil.
	wrap, client func(*tapConn) net.Conn
	// both says that one without the other makes no sense.
	both bool
	// calm is how long a connection has to be left alone to be idle for good.
	calm time.Duration
}

const calm = 400 * time.Millisecond

var wrapKinds = []wrapKind{
	{name: "embeds", wrap: asIs, calm: calm},
	{name: "embeds twice", wrap: func(t *tapConn) net.Conn { return &wrapTwice{wrapOnce{t}} }, calm: calm},
	{name: "meters", wrap: func(t *tapConn) net.Conn { return &wrapMeter{tapConn: t} }, calm: calm},
	{name: "replays", wrap: func(t *tapConn) net.Conn { return &wrapReplay{tapConn: t} }, calm: calm},
	{name: "buffers", wrap: func(t *tapConn) net.Conn { return &wrapBuffer{t, bufio.NewReader(t)} }, calm: calm},
	{name: "splits", wrap: func(t *tapConn) net.Conn { return &wrapSplit{t} }, calm: calm},
	{
		name: "drops a header", both: true, calm: calm,
		wrap: func(t *tapConn) net.Conn { return &wrapHeader{tapConn: t} },
		client: func(t *tapConn) net.Conn {
			_, _ = io.WriteString(t, wrapHeaderText)
			return t
		},
	},
	{name: "times out", wrap: func(t *tapConn) net.Conn { return &wrapTimeout{t} }, calm: calm},
	{name: "reads ahead", wrap: newWrapAhead, calm: calm},
	{name: "hides", wrap: func(t *tapConn) net.Conn { return &wrapHidden{t} }, calm: calm},
	{name: "TLS of the program", both: true, wrap: wrapServerTLS, client: wrapClientTLS, calm: calm},
}

type wrapOnce struct{ net.Conn }

type wrapTwice struct{ wrapOnce }

// wrapMeter counts.
type wrapMeter struct {
	*tapConn
	in, out int
}

func (m *wrapMeter) Read(p []byte) (int, error) {
	n, err := m.TCPConn.Read(p)
	m.in += n
	return m.read(n, err)
}

func (m *wrapMeter) Write(p []byte) (int, error) {
	n, err := m.TCPConn.Write(p)
	m.out += n
	return n, err
}

// wrapReplay looks at the beginning first.
type wrapReplay struct {
	*tapConn
	once    sync.Once
	sniffed bytes.Buffer
}

func (r *wrapReplay) Read(p []byte) (int, error) {
	var err error
	r.once.Do(func() { _, err = io.CopyN(&r.sniffed, r.TCPConn, 9) })
	if r.sniffed.Len() > 0 {
		return r.read(r.sniffed.Read(p))
	}
	if err != nil {
		return r.read(0, err)
	}
	return r.read(r.TCPConn.Read(p))
}

// wrapBuffer reads more than it returns.
type wrapBuffer struct {
	*tapConn
	r *bufio.Reader
}

func (b *wrapBuffer) Read(p []byte) (int, error) { return b.read(b.r.Read(p)) }

// wrapSplit returns little at once, and writes in pieces.
type wrapSplit struct{ *tapConn }

func (s *wrapSplit) Read(p []byte) (int, error) {
	return s.read(s.TCPConn.Read(p[:min(len(p), 3)]))
}

func (s *wrapSplit) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = s.TCPConn.Write(p[n:min(len(p), n+7)])
		n += k
	}
	return n, err
}

const wrapHeaderText = "PROXY UNKNOWN\r\n"

// wrapHeader takes a header off the stream.
type wrapHeader struct {
	*tapConn
	once sync.Once
}

func (h *wrapHeader) Read(p []byte) (int, error) {
	var err error
	h.once.Do(func() { _, err = io.CopyN(io.Discard, h.TCPConn, int64(len(wrapHeaderText))) })
	if err != nil {
		return h.read(0, err)
	}
	return h.read(h.TCPConn.Read(p))
}

// wrapTimeout has a limit for each Read and Write.
type wrapTimeout struct{ *tapConn }

func (t *wrapTimeout) Read(p []byte) (int, error) {
	_ = t.SetReadDeadline(time.Now().Add(time.Minute))
	return t.read(t.TCPConn.Read(p))
}

func (t *wrapTimeout) Write(p []byte) (int, error) {
	_ = t.SetWriteDeadline(time.Now().Add(time.Minute))
	return t.TCPConn.Write(p)
}

// wrapAhead has a goroutine that reads.
type wrapAhead struct {
	*tapConn
	r *io.PipeReader
}

func newWrapAhead(t *tapConn) net.Conn {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{t})
		_ = w.CloseWithError(err)
	}()
	return &wrapAhead{t, r}
}

func (a *wrapAhead) Read(p []byte) (int, error) { return a.read(a.r.Read(p)) }

func (a *wrapAhead) Close() error {
	_ = a.r.CloseWithError(net.ErrClosed)
	return a.tapConn.Close()
}

// wrapHidden embeds nothing and shows nothing.
type wrapHidden struct{ inner *tapConn }

func (h *wrapHidden) Read(p []byte) (int, error)         { return h.inner.read(h.inner.Read(p)) }
func (h *wrapHidden) Write(p []byte) (int, error)        { return h.inner.Write(p) }
func (h *wrapHidden) Close() error                       { return h.inner.Close() }
func (h *wrapHidden) LocalAddr() net.Addr                { return h.inner.LocalAddr() }
func (h *wrapHidden) RemoteAddr() net.Addr               { return h.inner.RemoteAddr() }
func (h *wrapHidden) SetDeadline(t time.Time) error      { return h.inner.SetDeadline(t) }
func (h *wrapHidden) SetReadDeadline(t time.Time) error  { return h.inner.SetReadDeadline(t) }
func (h *wrapHidden) SetWriteDeadline(t time.Time) error { return h.inner.SetWriteDeadline(t) }

func wrapServerTLS(t *tapConn) net.Conn {
	cert, _ := rig.Certificate()
	return tls.Server(t, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
}

func wrapClientTLS(t *tapConn) net.Conn {
	_, roots := rig.Certificate()
	return tls.Client(t, &tls.Config{RootCAs: roots, ServerName: "probe.example", NextProtos: []string{"h2"}})
}

// tapListener has the connections of a listener wrapped, and counts how often it is closed.
type tapListener struct {
	net.Listener
	seen *tapped
	wrap func(*tapConn) net.Conn

	closes atomic.Int32
}

func (l *tapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.seen.add(c, l.wrap), nil
}

func (l *tapListener) Close() error {
	l.closes.Add(1)
	return l.Listener.Close()
}

func (l *tapListener) closed() string {
	probe.Settle(30 * time.Millisecond) // for those that close again
	return fmt.Sprintf("closed %d times", l.closes.Load())
}

// dial returns a dialer that wraps.
func (t *tapped) dial(wrap func(*tapConn) net.Conn) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return t.add(c, wrap), nil
	}
}

// wrapped is a server and a channel to it, with something around the connections of both.
type wrapped struct {
	*grpc.ClientConn
	server       *grpc.Server
	listener     *tapListener
	mine, theirs *tapped     // the channel's and the server's
	ended        chan string // how handlers of streams ended
	peers        chan string // whom unary handlers saw
	served       chan error  // what Serve returned
}

// asIs adds nothing to the connection, which counts.
func asIs(t *tapConn) net.Conn { return t }

// startWrapped starts them.
func startWrapped(p *probe.P, onServer, onClient func(*tapConn) net.Conn, opts ...grpc.DialOption) *wrapped {
	w := &wrapped{
		mine: new(tapped), theirs: new(tapped),
		ended: make(chan string, 10), peers: make(chan string, 10), served: make(chan error, 1),
	}
	w.listener = &tapListener{Listener: rig.Listen(), seen: w.theirs, wrap: onServer}
	w.server = grpc.NewServer()
	w.server.RegisterService(rig.Handlers{Unary: w.unary, Stream: w.stream}.Desc(), nil)
	go func() { w.served <- w.server.Serve(w.listener) }()
	p.Cleanup(w.server.Stop)
	addr := w.listener.Addr().String()
	w.ClientConn = channelTo(p, addr, append(opts, quick, grpc.WithContextDialer(w.mine.dial(onClient)))...)
	return w
}

// unary echoes, and says who called.
func (w *wrapped) unary(ctx context.Context, in *rig.Msg) (*rig.Msg, error) {
	of, _ := peer.FromContext(ctx)
	select {
	case w.peers <- fmt.Sprintf("server: %v (%T) from %v (%T), %T", of.Addr, of.Addr, of.LocalAddr, of.LocalAddr, of.AuthInfo):
	default:
	}
	return in, nil
}

// stream echoes, and says how it ended.
func (w *wrapped) stream(s grpc.ServerStream) error {
	for {
		in := new(rig.Msg)
		err := s.RecvMsg(in)
		if err == nil {
			err = s.SendMsg(in)
		}
		if err != nil {
			w.ended <- fmt.Sprintf("%s, its context %v", rig.Err(err), s.Context().Err())
			return err
		}
	}
}

// open opens a stream, over which a message goes and comes back.
func (w *wrapped) open(ctx context.Context, p *probe.P) grpc.ClientStream {
	s, err := w.NewStream(ctx, rig.BidiDesc, rig.Bidi, grpc.WaitForReady(true))
	if err != nil {
		p.Printf("NewStream: %s", rig.Err(err))
		return nil
	}
	if err := s.SendMsg(rig.M("first")); err != nil {
		p.Printf("SendMsg: %s", rig.Err(err))
	}
	if said := receive(s)(); said != `"first"` {
		p.Printf("RecvMsg: %s", said)
	}
	return s
}

// handler says how the handler of the stream ended.
func (w *wrapped) handler() string {
	select {
	case said := <-w.ended:
		return said
	case <-probe.Quiet(time.Second):
		return "goes on"
	}
}
