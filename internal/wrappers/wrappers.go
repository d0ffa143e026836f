// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"google.golang.org/grpc/mem"
)

func same(c net.Conn) net.Conn { return c }

type embeds struct{ net.Conn }

// deep embeds another wrapper, and deeper embeds that.
type (
	deep   struct{ *embeds }
	deeper struct{ deep }
)

// keepAlive is what a listener returns that sets the keepalive of TCP.
type keepAlive struct{ *net.TCPConn }

func newKeepAlive(c net.Conn) net.Conn {
	tcp := c.(*net.TCPConn)
	_ = tcp.SetKeepAlive(true) // it fails on a connection that is closed
	return keepAlive{tcp}
}

// limited wraps as netutil.LimitListener does.
func limited(c net.Conn) net.Conn {
	lis := netutil.LimitListener(&once{conn: c}, 1)
	c, _ = lis.Accept() // once does not fail
	return c
}

// once is a listener that returns one connection.
type once struct {
	net.Listener
	conn net.Conn
}

func (o *once) Accept() (net.Conn, error) { return o.conn, nil }

// Meter wraps c in a connection that counts its bytes, in a Read and a Write of its own.
func Meter(c net.Conn) net.Conn { return &meter{Conn: c} }

type meter struct {
	net.Conn
	in, out atomic.Int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.in.Add(int64(n))
	return n, err
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.out.Add(int64(n))
	return n, err
}

// readMeter counts what it reads.
type readMeter struct {
	net.Conn
	in atomic.Int64
}

func (m *readMeter) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.in.Add(int64(n))
	return n, err
}

// replays looks at the first bytes, and returns them once more.
type replays struct {
	net.Conn
	once    sync.Once
	sniffed bytes.Buffer
}

func (r *replays) Read(p []byte) (int, error) {
	var err error
	r.once.Do(func() { _, err = io.CopyN(&r.sniffed, r.Conn, 9) })
	if r.sniffed.Len() > 0 {
		return r.sniffed.Read(p)
	}
	if err != nil {
		return 0, err
	}
	return r.Conn.Read(p)
}

// lastWords returns the end of the stream, or what broke it, together with the last bytes.
type lastWords struct{ net.Conn }

func (l *lastWords) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if err == nil && n < len(p) {
		return n, end(l.Conn)
	}
	return n, err
}

// splits reads little at once, and writes in pieces.
type splits struct{ net.Conn }

func (s *splits) Read(p []byte) (int, error) { return s.Conn.Read(p[:min(len(p), 1000)]) }

func (s *splits) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = s.Conn.Write(p[n:min(len(p), n+1000)])
		n += k
	}
	return n, err
}

// buffers reads more from its connection than it returns.
type buffers struct {
	net.Conn
	r *bufio.Reader
}

func (b *buffers) Read(p []byte) (int, error) { return b.r.Read(p) }

const header = "PROXY UNKNOWN\r\n"

// skips drops a header.
type skips struct {
	net.Conn
	once sync.Once
}

func newSkips(c net.Conn) net.Conn { return &skips{Conn: c} }

func (s *skips) Read(p []byte) (int, error) {
	var err error
	s.once.Do(func() { _, err = io.CopyN(io.Discard, s.Conn, int64(len(header))) })
	if err != nil {
		return 0, err
	}
	return s.Conn.Read(p)
}

// newHeads sends the header that skips drops.
func newHeads(c net.Conn) net.Conn {
	_, _ = io.WriteString(c, header) // the next write fails, too
	return embeds{c}
}

// timesOut sets deadlines that end a connection that is idle.
type timesOut struct{ net.Conn }

const idle = time.Minute

func (t *timesOut) Read(p []byte) (int, error) {
	if err := t.SetReadDeadline(time.Now().Add(idle)); err != nil {
		return 0, err
	}
	return t.Conn.Read(p)
}

func (t *timesOut) Write(p []byte) (int, error) {
	if err := t.SetWriteDeadline(time.Now().Add(idle)); err != nil {
		return 0, err
	}
	return t.Conn.Write(p)
}

// ahead has a goroutine that reads.
type ahead struct {
	net.Conn
	r *io.PipeReader
}

// ReadAhead wraps c in a connection with a goroutine that reads c ahead.
func ReadAhead(c net.Conn) net.Conn {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{c})
		w.CloseWithError(err)
	}()
	return &ahead{c, r}
}

func (a *ahead) Read(p []byte) (int, error) { return a.r.Read(p) }

func (a *ahead) Close() error {
	_ = a.r.CloseWithError(net.ErrClosed) // it never fails
	return a.Conn.Close()
}

// plain has a connection that it does not embed.
type plain struct{ c net.Conn }

func (p plain) Read(b []byte) (int, error)         { return p.c.Read(b) }
func (p plain) Write(b []byte) (int, error)        { return p.c.Write(b) }
func (p plain) Close() error                       { return p.c.Close() }
func (p plain) LocalAddr() net.Addr                { return p.c.LocalAddr() }
func (p plain) RemoteAddr() net.Addr               { return p.c.RemoteAddr() }
func (p plain) SetDeadline(t time.Time) error      { return p.c.SetDeadline(t) }
func (p plain) SetReadDeadline(t time.Time) error  { return p.c.SetReadDeadline(t) }
func (p plain) SetWriteDeadline(t time.Time) error { return p.c.SetWriteDeadline(t) }

// optsIn names the connection that does its reads and writes: see package experimental.
type optsIn struct{ plain }

func (o *optsIn) ReadsOf() net.Conn  { return o.c }
func (o *optsIn) WritesOf() net.Conn { return o.c }

// tellsCounts is a meter whose Read and Write may be bypassed, as it is told what to count: see package
// experimental.
type tellsCounts struct{ meter }

func (m *tellsCounts) ReadsOf() net.Conn  { return m.Conn }
func (m *tellsCounts) WritesOf() net.Conn { return m.Conn }
func (m *tellsCounts) CountRead(n int)    { m.in.Add(int64(n)) }
func (m *tellsCounts) CountWritten(n int) { m.out.Add(int64(n)) }

// countsReads counts, and says so of its reads only. Its Write is its own.
type countsReads struct{ meter }

func newCountsReads(c net.Conn) net.Conn { return &countsReads{meter{Conn: c}} }

func (m *countsReads) ReadsOf() net.Conn { return m.Conn }
func (m *countsReads) CountRead(n int)   { m.in.Add(int64(n)) }

// waits implements ReadyReader of package experimental.
type waits struct{ plain }

func (w *waits) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	n, err := w.c.Read((*buf)[:min(len(*buf), size)])
	if n > 0 {
		return buf, n, err
	}
	pool.Put(buf)
	return nil, 0, err
}

// tunnel is a channel within a connection as SSH has them: a pipe that knows no deadlines.
type tunnel struct {
	plain
	in io.Reader
}

func newTunnel(c net.Conn) net.Conn { return &tunnel{plain{c}, ReadAhead(c)} }

var errNoDeadlines = errors.New("wrappers: a tunnel has no deadlines")

func (t *tunnel) Read(p []byte) (int, error)     { return t.in.Read(p) }
func (t *tunnel) Close() error                   { return t.in.(*ahead).Close() }
func (*tunnel) SetDeadline(time.Time) error      { return errNoDeadlines }
func (*tunnel) SetReadDeadline(time.Time) error  { return errNoDeadlines }
func (*tunnel) SetWriteDeadline(time.Time) error { return errNoDeadlines }
