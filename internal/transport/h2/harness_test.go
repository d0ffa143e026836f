// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	xhpack "golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// bubble runs f under a fake clock. Goroutines that package warm keeps for a
// while must not pass from one clock to another: they end before and after.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	awaitNoWorkers()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { // after those of f
			time.Sleep(time.Minute) // the fake clock's
			synctest.Wait()
		})
		f(t)
	})
}

func awaitNoWorkers() {
	buf := make([]byte, 1<<20)
	for {
		stacks := buf[:runtime.Stack(buf, true)]
		if !bytes.Contains(stacks, []byte("internal/warm.(*worker).loop")) {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
}

// journal collects what happened, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.lines
	j.lines = nil
	return l
}

// testRole owns a connection and writes down all that it is told.
type testRole struct {
	journal
	accept   func(s *testStream, b *protocol.HeaderBlock) error
	onPing   func(streams int) error
	batches  int
	accepted []*testStream
	live     int // streams that were opened and not Done
	most     int
	greedy   bool // streams consume at once what arrives
	quiet    bool // write down nothing about streams
	exits    bool // end the goroutine when there is a GOAWAY, or the connection has ended
}

func (r *testRole) Accept(b *protocol.HeaderBlock, end bool) (*Stream, error) {
	if b.TooLarge() {
		return nil, frame.Error{Code: frame.EnhanceYourCalm}
	}
	s := &testStream{role: r}
	s.Init(s, 0)
	s.fields = fieldsOf(b)
	if r.accept != nil {
		if err := r.accept(s, b); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	if !r.quiet {
		r.accepted = append(r.accepted, s)
	}
	r.live++
	r.most = max(r.most, r.live)
	r.mu.Unlock()
	return &s.Stream, nil
}

func (r *testRole) Opened(st *Stream, end bool) {
	s := st.core.Receiver().(*testStream)
	s.note("opened %d %s%s", st.ID(), s.fields, endMark(end))
	if s.opened != nil {
		s.opened(end)
	}
}

// done ends what stands for the handler of s.
func (r *testRole) done(s *testStream) {
	r.mu.Lock()
	r.live--
	r.mu.Unlock()
	s.Done()
}

func (r *testRole) stream(id uint32) *testStream {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.accepted {
		if s.ID() == id {
			return s
		}
	}
	return nil
}

func (r *testRole) BatchEnd() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches++
}

func (r *testRole) Ready() { r.add("ready") }

func (r *testRole) AliveAsked() {}

func (r *testRole) PingReceived(streams int, _ bool) error {
	if r.onPing != nil {
		return r.onPing(streams)
	}
	return nil
}

func (r *testRole) GoAway(code frame.ErrCode, debug []byte) {
	if !r.quiet {
		r.add("goaway %v %q", code, debug)
	}
	if r.exits {
		runtime.Goexit()
	}
}

func (r *testRole) Closed(err error) {
	r.add("closed: %v", err)
	if r.exits {
		runtime.Goexit()
	}
}

// testStream is one stream of a testRole.
type testStream struct {
	Stream
	role   *testRole
	fields string
	buf    []byte
	space  []byte

	mu    sync.Mutex
	body  []byte
	ended bool
	abort *protocol.StreamError

	opened  func(end bool)
	headers func(b *protocol.HeaderBlock, end bool) error
	filled  func(n int) error
	done    func() // the peer has ended, or the stream was aborted
	keep    bool   // consume nothing
}

func newTestStream(r *testRole) *testStream {
	s := &testStream{role: r}
	s.Init(s, 0)
	return s
}

func (s *testStream) note(format string, args ...any) {
	if !s.role.quiet {
		s.role.add(format, args...)
	}
}

func (s *testStream) OnHeaders(b *protocol.HeaderBlock, end bool) error {
	s.note("headers %d %s%s", s.ID(), fieldsOf(b), endMark(end))
	if s.headers != nil {
		if err := s.headers(b, end); err != nil {
			return err
		}
	}
	if end {
		s.finished()
	}
	return nil
}

func (s *testStream) Take(p []byte, ahead, _ int) (grew int, err error) {
	for len(p) > 0 && err == nil {
		n := copy(s.Space(len(p), ahead), p)
		p = p[n:]
		grew, err = s.Filled(n)
	}
	return grew, err
}

func (s *testStream) Space(n, _ int) []byte {
	if len(s.buf) == 0 {
		s.buf = make([]byte, 4096)
	}
	s.space = s.buf[:min(n, len(s.buf))]
	return s.space
}

func (s *testStream) Filled(n int) (grew int, err error) {
	s.mu.Lock()
	s.body = append(s.body, s.space[:n]...)
	s.mu.Unlock()
	if s.filled != nil {
		if err := s.filled(n); err != nil {
			return 0, err
		}
	}
	if s.role.greedy && !s.keep {
		s.Consume(n, 0)
	}
	return 0, nil
}

func (s *testStream) OnEnd() error {
	s.note("end %d", s.ID())
	s.finished()
	return nil
}

func (s *testStream) OnAbort(err *protocol.StreamError) {
	s.note("abort %d %v%s", s.ID(), err, abortMarks(err))
	s.mu.Lock()
	twice := s.abort != nil
	s.abort = err
	s.mu.Unlock()
	if twice {
		s.role.add("aborted twice: %d", s.ID())
	}
	s.finished()
}

func (s *testStream) finished() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	if s.done != nil {
		s.done()
	}
}

func (s *testStream) received() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.body)
}

func abortMarks(err *protocol.StreamError) string {
	if err.Unprocessed {
		return " unprocessed"
	}
	return ""
}

func endMark(end bool) string {
	if end {
		return " end"
	}
	return ""
}

func fieldsOf(b *protocol.HeaderBlock) string {
	var l []string
	for i := range b.Len() {
		l = append(l, fmt.Sprintf("%s=%s", b.Name(i), b.Value(i)))
	}
	if b.TooLarge() {
		l = append(l, "too large")
	}
	return strings.Join(l, " ")
}

// fieldList is a header list to send: names and values in turn.
type fieldList []string

func (f fieldList) AppendFields(w *protocol.FieldWriter) {
	for i := 0; i < len(f); i += 2 {
		w.Field(f[i], f[i+1])
	}
}

var (
	request  = fieldList{":method", "POST", ":path", "/x"}
	response = fieldList{":status", "200"}
	trailers = fieldList{"grpc-status", "0"}
)

// message is Frames with one message.
func message(body string) protocol.Frames {
	f := protocol.Frames{HasData: true, Data: protocol.OnePiece(mem.SliceBuffer(body))}
	binary.BigEndian.PutUint32(f.Prefix[1:], uint32(len(body)))
	return f
}

// testPeer is the other end: it speaks frames, right and wrong ones.
type testPeer struct {
	t     testing.TB
	conn  *Conn
	role  *testRole
	nc    *memConn // our end
	self  *memConn // the end of the connection under test
	rest  []byte   // received and not parsed yet
	enc   *xhpack.Encoder
	encB  bytes.Buffer
	dec   *xhpack.Decoder
	block []byte // an open field block
	eof   bool
	rules *monitor
	last  *testStream // that open has opened
}

type peerConfig struct {
	protocol.Config
	limit    int // of the connection's buffers in bytes
	plain    bool
	settings []http2.Setting // of the peer
	accept   func(s *testStream, b *protocol.HeaderBlock) error
	raw      bool        // no handshake
	early    func(*Conn) // runs before the connection starts
}

// newPeer starts a connection of the given side and shakes hands with it.
func newPeer(t testing.TB, side protocol.Side, cfg peerConfig) *testPeer {
	t.Helper()
	if cfg.limit == 0 {
		cfg.limit = 1 << 20
	}
	if cfg.Pool == nil {
		cfg.Pool = mem.DefaultBufferPool()
	}
	self, nc := memPipe(cfg.limit)
	p := &testPeer{t: t, nc: nc, self: self, role: &testRole{accept: cfg.accept}, rules: newMonitor(side)}
	for _, s := range cfg.settings {
		if s.ID == http2.SettingMaxFrameSize {
			p.rules.maxFrame = s.Val
		}
	}
	p.enc = newPeerEncoder(p)
	p.dec = xhpack.NewDecoder(4096, nil)
	var under net.Conn = self
	if cfg.plain {
		under = plainConn{self}
	}
	p.conn = New(under, side, &cfg.Config, p.role)
	if cfg.early != nil {
		cfg.early(p.conn)
	}
	p.conn.Start()
	t.Cleanup(func() { p.conn.Close(nil); nc.Close() })
	if cfg.raw {
		return p
	}
	if side == protocol.Server {
		p.send([]byte(http2.ClientPreface))
	}
	p.send(onWire(func(f *http2.Framer) { f.WriteSettings(cfg.settings...); f.WriteSettingsAck() }))
	p.settle()
	if side == protocol.Client {
		p.wantPreface()
	}
	got := p.frames()
	if len(got) < 2 || !strings.HasPrefix(got[0], "SETTINGS") || !slices.Contains(got, "SETTINGS ack") {
		t.Fatalf("handshake: %q", got)
	}
	if l := p.role.take(); len(l) != 1 || l[0] != "ready" {
		t.Fatalf("handshake: %q", l)
	}
	return p
}

// peerWithStream is newPeer, with stream 1 open.
func peerWithStream(t testing.TB, side protocol.Side) *testPeer {
	p := newPeer(t, side, peerConfig{Config: protocol.Config{StaticWindow: true}})
	if side == protocol.Server {
		p.send(p.request(1, false))
	} else {
		p.open(protocol.Frames{})
	}
	p.frames()
	return p
}

func newPeerEncoder(p *testPeer) *xhpack.Encoder { return xhpack.NewEncoder(&p.encB) }

// settle waits until everyone waits.
func (p *testPeer) settle() { synctest.Wait() }

func (p *testPeer) send(b ...[]byte) {
	p.t.Helper()
	for _, x := range b {
		if _, err := p.nc.Write(x); err != nil {
			p.t.Logf("peer's write: %v", err)
			return
		}
	}
	p.settle()
}

func (p *testPeer) wantPreface() {
	p.t.Helper()
	p.rest = append(p.rest, p.nc.in.take()...)
	if !bytes.HasPrefix(p.rest, []byte(http2.ClientPreface)) {
		p.t.Fatalf("no preface: %q", p.rest)
	}
	p.rest = p.rest[len(http2.ClientPreface):]
}

// headers encodes a field block; fields are names and values in turn.
func (p *testPeer) fieldBlock(fields ...string) []byte {
	p.encB.Reset()
	for i := 0; i < len(fields); i += 2 {
		p.enc.WriteField(xhpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return slices.Clone(p.encB.Bytes())
}

// request is HEADERS that open stream id.
func (p *testPeer) request(id uint32, end bool) []byte { return p.headers(id, end, request...) }

func (p *testPeer) headers(id uint32, end bool, fields ...string) []byte {
	b := p.fieldBlock(fields...)
	return onWire(func(f *http2.Framer) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: b, EndHeaders: true, EndStream: end})
	})
}

func data(id uint32, body string, end bool) []byte {
	return onWire(func(f *http2.Framer) { f.WriteData(id, end, []byte(body)) })
}

func rst(id uint32, code http2.ErrCode) []byte {
	return onWire(func(f *http2.Framer) { f.WriteRSTStream(id, code) })
}

func ping(data string) []byte {
	return onWire(func(f *http2.Framer) { f.WritePing(false, [8]byte([]byte(data))) })
}

func window(id, n uint32) []byte {
	return raw(http2.FrameWindowUpdate, 0, id, binary.BigEndian.AppendUint32(nil, n))
}

func settings(kv ...uint32) []byte {
	var p []byte
	for i := 0; i < len(kv); i += 2 {
		p = binary.BigEndian.AppendUint16(p, uint16(kv[i]))
		p = binary.BigEndian.AppendUint32(p, kv[i+1])
	}
	return raw(http2.FrameSettings, 0, 0, p)
}

func goAway(last uint32, code http2.ErrCode, debug string) []byte {
	return onWire(func(f *http2.Framer) { f.WriteGoAway(last, code, []byte(debug)) })
}

// raw is a frame of any kind.
func raw(t http2.FrameType, flags http2.Flags, id uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), byte(t), byte(flags)}
	b = binary.BigEndian.AppendUint32(b, id)
	return append(b, payload...)
}

// wire is what f writes.
func onWire(f func(*http2.Framer)) []byte {
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	fr.AllowIllegalWrites = true
	f(fr)
	return b.Bytes()
}

func join(b ...[]byte) []byte { return bytes.Join(b, nil) }

// frames returns, as text, all frames that have arrived, and at last "EOF" once
// the connection was closed.
func (p *testPeer) frames() []string {
	p.t.Helper()
	p.rest = append(p.rest, p.nc.in.take()...)
	var out []string
	for len(p.rest) >= 9 {
		h := frame.ParseHeader(p.rest)
		end := 9 + int(h.Length)
		if len(p.rest) < end {
			break
		}
		if broken := p.rules.check(p.rest[:end]); broken != "" {
			p.t.Errorf("sent, against section %s: %x", broken, p.rest[:min(end, 40)])
		}
		fr := http2.NewFramer(nil, bytes.NewReader(p.rest[:end]))
		fr.AllowIllegalReads = true
		fr.SetMaxReadFrameSize(1<<24 - 1)
		f, err := fr.ReadFrame()
		p.rest = p.rest[end:]
		if err != nil {
			p.t.Fatalf("unreadable frame of type %v: %v", h.Type, err)
		}
		if s := p.text(f); s != "" {
			out = append(out, s)
		}
	}
	p.nc.in.mu.Lock()
	gone := p.nc.in.ended && len(p.nc.in.buf) == 0
	p.nc.in.mu.Unlock()
	if gone && len(p.rest) == 0 && !p.eof {
		p.eof = true
		out = append(out, "EOF")
	}
	return out
}

func (p *testPeer) text(f http2.Frame) string {
	h := f.Header()
	switch f := f.(type) {
	case *http2.DataFrame:
		return fmt.Sprintf("DATA %d %q%s", h.StreamID, f.Data(), endMark(f.StreamEnded()))
	case *http2.HeadersFrame:
		p.block = slices.Clone(f.HeaderBlockFragment())
		s := fmt.Sprintf("HEADERS %d%s", h.StreamID, endMark(f.StreamEnded()))
		if !f.HeadersEnded() {
			return s + " open"
		}
		return s + p.fields()
	case *http2.ContinuationFrame:
		p.block = append(p.block, f.HeaderBlockFragment()...)
		if !f.HeadersEnded() {
			return ""
		}
		return fmt.Sprintf("CONTINUATION %d", h.StreamID) + p.fields()
	case *http2.RSTStreamFrame:
		return fmt.Sprintf("RST %d %v", h.StreamID, f.ErrCode)
	case *http2.SettingsFrame:
		if f.IsAck() {
			return "SETTINGS ack"
		}
		s := "SETTINGS"
		f.ForeachSetting(func(x http2.Setting) error { s += fmt.Sprintf(" %v=%d", x.ID, x.Val); return nil })
		return s
	case *http2.PingFrame:
		if f.IsAck() {
			return fmt.Sprintf("PING ack %s", bytes.TrimRight(f.Data[:], "\x00"))
		}
		return fmt.Sprintf("PING %s", bytes.TrimRight(f.Data[:], "\x00"))
	case *http2.GoAwayFrame:
		return fmt.Sprintf("GOAWAY %d %v", f.LastStreamID, f.ErrCode)
	case *http2.WindowUpdateFrame:
		return fmt.Sprintf("WINDOW %d %d", h.StreamID, f.Increment)
	}
	return fmt.Sprintf("%v", h)
}

func (p *testPeer) fields() string {
	l, err := p.dec.DecodeFull(p.block)
	if err != nil {
		p.t.Fatalf("field block: %v", err)
	}
	var s string
	for _, f := range l {
		s += fmt.Sprintf(" %s=%s", f.Name, f.Value)
	}
	return s
}

// want checks the frames that have arrived since the last look.
func (p *testPeer) want(frames ...string) {
	p.t.Helper()
	p.settle()
	same(p.t, "frames", p.frames(), frames)
}

// wantTold checks what the connection's owner was told since the last look.
func (p *testPeer) wantTold(lines ...string) {
	p.t.Helper()
	p.settle()
	same(p.t, "told", p.role.take(), lines)
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %s\n want %s", what, strings.Join(got, "\n      "), strings.Join(want, "\n      "))
	}
}

// open starts a stream on a client.
func (p *testPeer) open(f protocol.Frames) *testStream {
	p.t.Helper()
	s := newTestStream(p.role)
	if f.Headers == nil {
		f.Headers = request
	}
	if err := p.conn.Open(&s.Stream, f, nil); err != nil {
		p.t.Fatalf("Open: %v", err)
	}
	p.last = s
	p.settle()
	return s
}

// openStreams returns how many streams are open.
func openStreams(c *Conn) int {
	l := c.lock()
	defer l.unlock()
	return l.core.OpenStreams()
}
