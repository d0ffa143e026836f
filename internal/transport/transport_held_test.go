// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/envconfig"
	imem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/keepalive"
)

// What a peer makes a connection hold is at most four times what it sent, and 600 bytes a
// stream. The heap is looked at, not the account alone: it might be wrong.

// slack is what the heap may grow by for other reasons: goroutines, buffers that are in
// the pool, the runtime.
const slack = 1 << 20

func heap() int64 {
	runtime.GC()
	runtime.GC() // what was in sync.Pools is gone after the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// idleHandler waits for the end of each call.
func idleHandler(s *ServerStream) {
	<-s.Context().Done()
	_ = s.Finish(nil)
}

// oftenPings lets settle be called as often as a test likes.
var oftenPings = keepalive.EnforcementPolicy{MinTime: 1, PermitWithoutStream: true}

// attacker is a rawPeer that counts what it sends, and reads nothing until asked.
type attacker struct {
	*rawPeer
	sent  int64
	pings byte
}

func attack(t *testing.T, s *testServer) *attacker { return &attacker{rawPeer: rawClient(t, s)} }

func (a *attacker) send(b []byte) {
	a.sent += int64(len(b))
	a.write(b)
}

// settle waits until everything sent so far was dealt with. It returns the codes that
// streams were reset with.
func (a *attacker) settle() (resets []frame.ErrCode) {
	a.pings++
	a.write(frame.AppendPing(nil, false, [8]byte{a.pings}))
	for {
		h, b, ok := a.read()
		switch {
		case !ok:
			a.t.Fatal("the connection ended")
		case h.Type == frame.RSTStream:
			code, _ := frame.ParseRSTStream(h, b)
			resets = append(resets, code)
		case h.Type == frame.Ping && h.Flags.Has(frame.FlagAck) && b[0] == a.pings:
			return resets
		}
	}
}

// headers opens stream id with a block.
func (a *attacker) headers(id uint32, block []byte, end bool) {
	a.send(fieldBlock(headersParams{StreamID: id, Block: block, EndStream: end}))
}

func dataFrame(id uint32, announced int, payload []byte) []byte {
	return append(frame.AppendDataHeader(nil, id, announced, false), payload...)
}

// bomb is a block of n references to one field of 4,000 bytes, which insert puts into the
// table, behind what a request or response needs.
func bomb(pairs []string, n int) (insert, refs []byte) { return bombOf(4000, pairs, n) }

func bombOf(size int, pairs []string, n int) (insert, refs []byte) {
	var e hpack.Encoder
	insert = e.Begin(nil)
	for i := 0; i < len(pairs); i += 2 {
		insert = e.AppendField(insert, pairs[i], pairs[i+1], hpack.WithoutIndexing)
	}
	refs = bytes.Clone(insert)
	insert = e.AppendField(insert, "x", strings.Repeat("y", size), hpack.Incremental)
	return insert, append(refs, bytes.Repeat([]byte{0x80 | 62}, n)...)
}

func (s *testServer) only() (c *Server) {
	s.each(func(x *Server) { c = x })
	return c
}

func TestReferencesAreShared(t *testing.T) {
	const streams = 10
	s := startServer(t, "memory", ServerConfig{}, idleHandler)
	a := attack(t, s)
	insert, refs := bomb(requestFields, 4000)
	a.headers(1, insert, false)
	a.settle()
	before, sent := heap(), a.sent
	for i := range streams {
		a.headers(uint32(3+2*i), refs, false)
	}
	a.settle()
	bound := 4*(a.sent-sent) + 600*streams
	if got := heap() - before; got > bound+slack {
		t.Errorf("%d bytes of heap for %d that were sent", got, a.sent-sent)
	}
	if got := int64(s.only().Stats().Held); got > bound+4*sent+600 || got == 0 {
		t.Errorf("%d bytes are charged", got)
	}
}

// A reference costs as much time, whatever it is to: else blocks of 4 KB, of which each makes
// the reader look at 16 MB, keep a server from all else.
func TestReferencesTakeNoTime(t *testing.T) {
	s := startServer(t, "memory", ServerConfig{Policy: oftenPings}, idleHandler)
	var peers [2]*attacker
	var blocks [2][]byte
	for i, size := range []int{4, 4000} {
		peers[i] = attack(t, s)
		var insert []byte
		insert, blocks[i] = bombOf(size, requestFields, 4000)
		peers[i].headers(1, insert, false)
		peers[i].settle()
	}
	best := [2]time.Duration{time.Hour, time.Hour}
	for round := range 20 {
		for i, a := range peers {
			began := time.Now()
			a.headers(uint32(3+2*round), blocks[i], false)
			a.settle()
			best[i] = min(best[i], time.Since(began))
		}
	}
	if best[1] > 5*best[0] {
		t.Errorf("a block of references to 4,000 bytes takes %v, one of references to 4 bytes %v", best[1], best[0])
	}
}

// Small blocks of large lists are not remembered, and the list is not kept, with nothing open
// and half a frame in hand, so that the connection can't park.
func TestMemosAreSmall(t *testing.T) {
	s := startServer(t, "memory", ServerConfig{}, func(s *ServerStream) { _ = s.Finish(nil) })
	a := attack(t, s)
	insert, _ := bomb(requestFields, 0)
	a.headers(1, insert, true)
	a.settle()
	before := heap()
	for i := range 8 {
		_, refs := bomb(requestFields, 300+i)
		a.headers(uint32(3+2*i), refs, true)
	}
	a.settle()
	a.send([]byte{0})
	if got := heap() - before; got > 4*a.sent+slack {
		t.Errorf("%d bytes of heap for %d that were sent", got, a.sent)
	}
}

// TestBytesThatCome: no memory is taken for what was only announced.
func TestBytesThatCome(t *testing.T) {
	const streams = 200
	s := startServer(t, "memory", ServerConfig{}, idleHandler)
	a := attack(t, s)
	for i := range streams {
		a.headers(uint32(1+2*i), block(requestFields...), false)
	}
	a.settle()
	lent, held, sent := imem.Default().Stats().Bytes, s.only().Stats().Held, a.sent
	message := messagePrefix(1 << 20)
	for i := range streams {
		a.send(dataFrame(uint32(1+2*i), 6, append(message[:5:5], 'x')))
	}
	a.settle()
	bound := int(4*(a.sent-sent)) + 600*streams
	if got := int(imem.Default().Stats().Bytes - lent); got > bound {
		t.Errorf("%d bytes of the pool are lent for %d that were sent", got, a.sent-sent)
	}
	if got := s.only().Stats().Held - held; got > bound || got < 6*streams {
		t.Errorf("%d bytes are charged for %d that were sent", got, a.sent-sent)
	}
}

func TestTinyMessages(t *testing.T) {
	const n = 10_000
	s := startServer(t, "memory", ServerConfig{}, idleHandler)
	for _, size := range []int{0, 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			a := attack(t, s)
			a.headers(1, block(requestFields...), false)
			a.settle()
			before, sent := heap(), a.sent
			message := append(messagePrefix(uint32(size)), make([]byte, size)...)
			frame := dataFrame(1, 1000*len(message), bytes.Repeat(message, 1000))
			for range n / 1000 {
				a.send(frame)
			}
			a.settle()
			if got := heap() - before; got > 4*(a.sent-sent)+slack/8 {
				t.Errorf("%d bytes of heap for %d that were sent", got, a.sent-sent)
			}
			if got := int64(s.only().Stats().Held); got > 4*a.sent+600 || got < n {
				t.Errorf("%d bytes are charged for %d that were sent", got, a.sent-sent)
			}
			a.nc.Close()
			waitFor(t, "the connection to end", func() bool { return s.only() == nil })
		})
	}
}

// TestIncompleteBlocks: a field block that grows is not copied as it does.
func TestIncompleteBlocks(t *testing.T) {
	s := startServer(t, "memory", ServerConfig{}, idleHandler)
	a := attack(t, s)
	a.settle()
	part := fieldBlock(headersParams{StreamID: 1, Block: block(requestFields...)})
	part[4] &^= byte(frame.FlagEndHeaders)
	more := append([]byte{0, 0x40, 0, byte(frame.Continuation), 0, 0, 0, 0, 1}, make([]byte, 16<<10)...)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	a.send(part)
	for range 100 {
		a.send(more)
	}
	waitFor(t, "all of it to be there", func() bool { return int64(s.only().Stats().Held) >= a.sent*9/10 })
	runtime.ReadMemStats(&after)
	if got := int64(after.TotalAlloc - before.TotalAlloc); got > 2*a.sent+slack && !imem.Checking { // which drops buffers at random
		t.Errorf("%d bytes were allocated for %d that were sent", got, a.sent)
	}
	if got := int64(s.only().Stats().Held); got > 2*a.sent {
		t.Errorf("%d bytes are charged for %d that were sent", got, a.sent)
	}
}

// TestMalformedIncompleteBlocks: a field block is not gathered to its end where its
// beginning is malformed.
func TestMalformedIncompleteBlocks(t *testing.T) {
	s := startServer(t, "memory", ServerConfig{}, idleHandler)
	a := attack(t, s)
	a.settle()
	part := fieldBlock(headersParams{StreamID: 1, Block: block("x", "y", ":path", "/a/b")})
	part[4] &^= byte(frame.FlagEndHeaders)
	a.send(part)
	more := append([]byte{0, 0x40, 0, byte(frame.Continuation), 0, 0, 0, 0, 1}, make([]byte, 16<<10)...)
	for range 4 {
		a.send(more)
	}
	for {
		h, b, ok := a.read()
		if !ok {
			t.Fatal("no GOAWAY")
		}
		if h.Type != frame.GoAway {
			continue
		}
		if !strings.Contains(string(b), "malformed field block") {
			t.Errorf("GOAWAY %q", b)
		}
		return
	}
}

func goroutinesMade() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestRefusedRequests: what no handler is to see has no goroutine.
func TestRefusedRequests(t *testing.T) {
	unknown := slices.Clone(requestFields)
	unknown[slices.Index(unknown, ":path")+1] = refusedMethod
	for name, fields := range map[string][]string{
		"malformed": append([]string{"grpc-timeout", "soon"}, requestFields...),
		"unknown":   unknown,
	} {
		t.Run(name, func(t *testing.T) {
			const n = 300
			s := startServer(t, "memory", ServerConfig{}, idleHandler)
			a := attack(t, s)
			a.settle()
			bad := block(fields...)
			var flood []byte
			for i := range n {
				flood = append(flood, fieldBlock(headersParams{StreamID: uint32(1 + 2*i), Block: bad})...)
			}
			before := goroutinesMade()
			a.send(flood)
			a.settle()
			if got := goroutinesMade() - before; got > n/10 {
				t.Errorf("%d goroutines for %d requests that were refused", got, n)
			}
			waitFor(t, "all to be forgotten", func() bool { return s.only().Stats().Streams == 0 })
		})
	}
}

// TestRefusalsInWindows: the texts of a hundred refusals wait for the window. Without one the
// stream of a refusal ends.
func TestRefusalsInWindows(t *testing.T) {
	const n, waiting = 1000, 100
	s := startServer(t, "memory", ServerConfig{}, idleHandler)
	a := attack(t, s)
	a.settle()
	get := block(append([]string{":method", "GET"}, requestFields[2:]...)...)
	var flood []byte
	for i := range n {
		flood = append(flood, fieldBlock(headersParams{StreamID: uint32(1 + 2*i), Block: get, EndStream: true})...)
	}
	a.send(append(flood, frame.AppendPing(nil, false, [8]byte{255})...))
	texts, ends := 0, 0
	for {
		h, b, ok := a.read()
		if !ok {
			t.Fatal("the connection ended")
		}
		if h.Type == frame.Ping {
			break
		}
		if h.Type == frame.Data {
			texts += len(b)
		}
		if h.Flags.Has(frame.FlagEndStream) && (h.Type == frame.Data || h.Type == frame.Headers) {
			ends++
		}
	}
	if ends != n-waiting {
		t.Errorf("%d of %d refusals have ended", ends, n)
	}
	if texts > 65535 || texts < 65000 {
		t.Errorf("%d bytes of texts in a window of 65535", texts)
	}
	if got := s.only().Stats().Streams; got != waiting {
		t.Errorf("%d streams are kept", got)
	}
}

// TestClientHoldsLittle: what holds for clients of a server holds for servers of a client.
func TestClientHoldsLittle(t *testing.T) {
	insert, refs := bomb(responseFields, 4000)
	const calls = 10
	first := true
	sent := int64(0)
	c := rawServerOf(t, nil, func(p *rawPeer, id uint32, _ []byte) {
		answer := refs
		if first {
			answer, first = insert, false
		}
		f := fieldBlock(headersParams{StreamID: id, Block: answer})
		sent += int64(len(f))
		p.write(f)
	})
	streams := []*ClientStream{openToHeaders(t, c)}
	before := heap()
	for range calls {
		streams = append(streams, openToHeaders(t, c))
	}
	waitFor(t, "the account", func() bool { return c.Stats().Held > 0 })
	if got := heap() - before; got > 4*calls*int64(len(refs))+600*calls+slack {
		t.Errorf("%d bytes of heap for %d", got, calls*len(refs))
	}
	for _, st := range streams {
		st.Cancel(context.Canceled)
	}
	waitFor(t, "all to be refunded", func() bool { return c.Stats().Held < 2<<10+ownBuffer() }) // memos
}

// ownBuffer is what a connection always holds: a buffer to read into, with pooling off.
func ownBuffer() int {
	if envconfig.HTTPFramerReadBufferPooling {
		return 0
	}
	return defaultReadBuffer
}

// TestBoundOfWhatIsHeld: past the bound there are no new streams, past twice the bound no
// connection, and both are said.
func TestBoundOfWhatIsHeld(t *testing.T) {
	const bound = 1 << 20
	s := startServer(t, "memory", ServerConfig{Tuning: Tuning{MaxBytesHeld: bound}, Policy: oftenPings}, idleHandler)
	a := attack(t, s)
	body := append(messagePrefix(1<<20), make([]byte, 16000-grpcwire.PrefixLen)...)
	id := uint32(1)
	open := func() (resets []frame.ErrCode) {
		a.headers(id, block(requestFields...), false)
		return a.settle()
	}
	fill := func(id uint32) {
		for range 4 {
			a.send(dataFrame(id, len(body), body))
		}
	}
	for s.only() == nil || s.only().Stats().Held <= bound {
		if r := open(); len(r) > 0 {
			t.Fatalf("stream %d is refused with %d bytes held", id, s.only().Stats().Held)
		}
		fill(id)
		a.settle()
		id += 2
	}
	if r := open(); len(r) != 1 || r[0] != frame.EnhanceYourCalm {
		t.Fatalf("past the bound: %v", r)
	}
	// What there is goes on, and as soon as it is less new streams are welcome.
	for i := range uint32(8) {
		a.send(frame.AppendRSTStream(nil, 1+2*i, frame.Cancel))
	}
	waitFor(t, "handlers to return", func() bool { return s.only().Stats().Held < bound })
	id += 2
	if r := open(); len(r) != 0 {
		t.Fatalf("below the bound: %v", r)
	}
	// The last of those handlers may be about to return.
	waitFor(t, "as many bytes in all as are charged", func() bool {
		return int64(s.only().Stats().Held-ownBuffer()) == h2.BytesHeld()
	})
	// A field block is not a stream, and of any size.
	part := fieldBlock(headersParams{StreamID: id + 2, Block: block(requestFields...)})
	part[4] &^= byte(frame.FlagEndHeaders)
	a.send(part)
	more := append([]byte{0, 0x40, 0, byte(frame.Continuation), 0}, binary.BigEndian.AppendUint32(nil, id+2)...)
	more = append(more, make([]byte, 16<<10)...)
	go func() {
		for range 4 * bound >> 14 {
			if _, err := a.nc.Write(more); err != nil {
				return
			}
		}
	}()
	for {
		h, b, ok := a.read()
		if !ok {
			t.Fatal("the connection ended without a word")
		}
		if h.Type != frame.GoAway {
			continue
		}
		g, err := frame.ParseGoAway(h, b)
		if err != nil || g.Code != frame.EnhanceYourCalm || !strings.Contains(string(g.Debug), "twice the bound of 1048576") {
			t.Errorf("%+v %v", g, err)
		}
		break
	}
	a.nc.Close()
	waitFor(t, "the account to be closed", func() bool { return h2.BytesHeld() == 0 })
}

func take(st *ClientStream) error {
	m, err := st.Recv()
	if err == nil {
		m.Data.Free()
	}
	return err
}

// TestAccountIsExact: calls of all kinds, and in the end nothing is held, while the
// connections are still there.
func TestAccountIsExact(t *testing.T) {
	s := startServer(t, "unix", ServerConfig{}, func(s *ServerStream) {
		if strings.HasSuffix(s.Method(), "Unary") {
			echoUnary(s)
			return
		}
		echoStream(s)
	})
	c, _ := s.dial(nil)
	for i := range 200 {
		if _, err := unary(context.Background(), c, make([]byte, i*i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		ctx, cancel := context.WithCancel(context.Background())
		st, err := c.NewStream(ctx, &Call{Method: "/test.Echo/Stream", MaxRecvMsgSize: math.MaxInt32}, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		for j := range 40 {
			if err := st.Send(payload(make([]byte, i*j)), j == 39); err != nil {
				t.Fatal(err)
			}
		}
		switch i % 3 {
		case 0:
			for err == nil {
				err = take(st)
			}
			if err != io.EOF || st.Status() != nil {
				t.Fatal(err, st.Status())
			}
		case 1:
			_ = take(st)
		}
		cancel()
		st.Cancel(context.Canceled)
		if got := st.Status(); i%3 > 0 && got != nil && got.Code() != codes.Canceled { // the server's OK may have come before
			t.Fatal(st.Status())
		}
	}
	memos := 0
	if !envconfig.HTTPFramerReadBufferPooling {
		memos = 2 << 10 // such a connection is never quiet, and keeps them
	}
	waitFor(t, "all to be refunded", func() bool {
		most := memos + ownBuffer()
		return h2.BytesHeld() <= int64(2*memos) && c.Stats().Held <= most && s.only().Stats().Held <= most
	})
}

// TestServerStreamSize: what every open call holds fits the size class below the next.
func TestServerStreamSize(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the classes are those of pointers of 8 bytes")
	}
	if got := unsafe.Sizeof(ServerStream{}); got > 320 {
		t.Errorf("a ServerStream takes %d bytes; beyond 320 the allocator gives it 352", got)
	}
	if got := unsafe.Sizeof(Server{}); got > 96 {
		t.Errorf("a Server takes %d bytes; beyond 96 the allocator gives it 112", got)
	}
	if got := unsafe.Sizeof(request{}); got > 80 {
		t.Errorf("a request takes %d bytes; beyond 80 the allocator gives it 96", got)
	}
}

// TestClientStreamSize: the same for a client.
func TestClientStreamSize(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the classes are those of pointers of 8 bytes")
	}
	if got := unsafe.Sizeof(ClientStream{}); got > 288 {
		t.Errorf("a ClientStream takes %d bytes; beyond 288 the allocator gives it 320", got)
	}
	if got := unsafe.Sizeof(response{}); got > 112 {
		t.Errorf("a response takes %d bytes; beyond 112 the allocator gives it 128", got)
	}
}

// TestWaitingStreamsOweLittle: what very many streams took, and wait for more, is not what reaches
// a connection's bound.
func TestWaitingStreamsOweLittle(t *testing.T) {
	const streams, messages, slackOfEach = 40, 40, 1 << 10
	srv := startServer(t, "tcp", ServerConfig{}, echoStream)
	c, _ := srv.dial(nil)
	talks := make([]talk, streams)
	msg := strings.Repeat("m", 100)
	round := func() {
		for _, s := range talks {
			s.send(msg)
			s.hear(msg)
		}
	}
	for i := range talks {
		talks[i] = startTalk(t, c)
	}
	round()
	before := srv.only().Stats().Held
	for range messages {
		round()
	}
	waitFor(t, "all to wait, and little to be charged", func() bool {
		return srv.only().Stats().Held <= before+streams*slackOfEach
	})
	for _, s := range talks {
		s.end()
	}
}

// A request that is malformed because of its END_STREAM leaves a memo behind, which streams with
// the same block, and without that, share. What they hold is charged for as long as they do.
func TestMemoOfRefusedRequestIsCharged(t *testing.T) {
	const rounds, size = 40, 1500
	s := startServer(t, "memory", ServerConfig{Policy: oftenPings}, idleHandler)
	a := attack(t, s)
	var e hpack.Encoder
	id := uint32(1)
	open := func(b []byte, end bool) {
		a.headers(id, b, end)
		id += 2
	}
	fields := func(b []byte) []byte {
		for i := 0; i < len(requestFields); i += 2 {
			b = e.AppendField(b, requestFields[i], requestFields[i+1], hpack.WithoutIndexing)
		}
		return e.AppendField(b, "content-length", "5", hpack.WithoutIndexing)
	}
	a.settle()
	before := s.only().Stats().Held
	for round := range rounds {
		name, value := fmt.Sprint("x", round), strings.Repeat("y", size)
		open(e.AppendField(fields(e.Begin(nil)), name, value, hpack.Incremental), true)
		refs := e.AppendField(fields(nil), name, value, hpack.Incremental)
		open(refs, true)
		open(refs, false)
		for i := range 8 {
			open(e.AppendField(bytes.Clone(refs), "n", fmt.Sprint(round, i), hpack.WithoutIndexing), true)
		}
		a.settle()
	}
	got := s.only().Stats().Held - before
	if got < rounds*size {
		t.Errorf("%d bytes are charged for %d streams that hold %d bytes each", got, s.only().Stats().Streams, size)
	}
}
