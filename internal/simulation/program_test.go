// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// call is one RPC: what its programs are to do, and what has come of it.
type call struct {
	w    *world
	n    int
	link *link

	// What is to be done.
	unary       bool
	up, down    []int // the lengths of messages
	deadline    time.Duration
	watched     bool
	stopsAfter  int  // how many messages the client takes before it stops; -1: all
	readsFirst  int  // how many messages the handler takes before it sends
	readsAll    bool // it takes all before it ends
	hangs       bool // it waits for the end of its context
	headerFirst bool
	code        codes.Code // that the handler ends with
	handed      bool       // its stream is handed over
	lazyClose   bool       // the client says the end of its messages apart
	refused     bool       // no handler is to see it
	waits       bool       // for a server, where the channel has none; without one it waits always
	rpc         *rpc       // of which it is an attempt; nil: it is none
	race        *race      // likewise, of an RPC that is hedged
	leg         leg        // what there is of it for that

	// What has happened.
	stream      *transport.ClientStream
	end         context.CancelFunc
	picking     int32                            // 1: the channel looks for a connection; atomic, as a timer may end that
	verdict     func(*retry.State) retry.Verdict // the channel's about another attempt; nil: there is no channel
	began       bool                             // NewStream was called
	begun       time.Time
	openErr     error
	sent        int // messages that the client has given
	closed      bool
	senderDone  bool
	got         int  // messages that the client has taken
	receiving   bool // the client waits for what arrives next
	awaiting    bool // likewise, or for the end, with one message
	resumed     bool
	cancelled   bool
	over        bool // the client knows the end
	overAt      time.Time
	status      codes.Code
	gotTrailers bool
	unprocessed bool
	unsent      bool
	gotHeaders  bool
	transparent bool // another attempt follows as if nobody had seen this one

	handled      int // how many times a handler began
	handledAt    time.Time
	handlerDone  bool
	handlerGot   int
	handlerSent  int
	handlerSaw   bool  // the end of the client's messages
	taking       bool  // the handler, or the owner, waits for what arrives next
	handlerErr   error // of a receive or send
	finished     bool
	finishErr    error
	streamServer *transport.ServerStream
}

// newCall chooses what a call is to do.
func (w *world) newCall() {
	c := w.c
	k := &call{w: w, n: len(w.calls), link: w.nextLink(0), stopsAfter: -1, readsAll: true}
	k.unary = c.pick(2) == 0
	many := 3
	if w.swarm.has(manyMessages) {
		many = 12
	}
	k.up, k.down = w.lengths(many), w.lengths(many)
	if k.unary {
		k.up, k.down = append(k.up, w.length())[:1], append(k.down, w.length())[:1]
	}
	k.code = of(c, codes.OK, codes.OK, codes.OK, codes.NotFound, codes.Internal)
	k.readsFirst = c.pick(3)
	k.readsAll = !c.rarely(4)
	k.headerFirst = c.rarely(4)
	k.lazyClose = c.rarely(2)
	k.handed = w.swarm.has(handovers) && c.pick(2) == 1
	k.hangs = w.swarm.has(neverEnds) && c.rarely(3)
	if w.swarm.has(stopsReading) && c.rarely(2) {
		k.stopsAfter = c.pick(2)
	}
	if w.swarm.has(deadlines) && c.rarely(2) {
		k.deadline = of(c, 5*time.Millisecond, 50*time.Millisecond, 5*time.Second)
	}
	k.watched = w.swarm.has(watchedCalls)
	if k.refused = w.swarm.has(refuses) && c.rarely(3); k.refused {
		k.code, k.down, k.hangs, k.handed = codes.PermissionDenied, nil, false, false
	}
	k.waits = w.balanced != nil && c.pick(2) == 1
	switch {
	case k.hangs, k.refused:
	case w.swarm.has(hedges) && c.pick(2) == 1:
		k.hedged()
	case w.swarm.has(attempts):
		k.retried()
	}
	w.add(k)
}

// nextLink is where the n-th attempt of a call goes; nil: that is for the channel to say.
func (w *world) nextLink(n int) *link {
	if w.balanced != nil {
		return nil
	}
	return w.links[n%len(w.links)]
}

// add has a call's program begin some time.
func (w *world) add(k *call) {
	w.calls = append(w.calls, k)
	w.program(fmt.Sprintf("call %d", k.n), k.run)
}

func (w *world) lengths(many int) (l []int) {
	for range w.c.pick(many) {
		l = append(l, w.length())
	}
	return l
}

func (w *world) length() int {
	if w.swarm.has(bulk) && w.c.rarely(3) {
		return of(w.c, 5000, 17000, 40000, 66000, 140000)
	}
	return of(w.c, 8, 0, 1, 100, 1200)
}

// fill makes the i-th message of a call, in a direction.
func fill(b []byte, call, direction, i int) {
	var key [8]byte
	binary.BigEndian.PutUint32(key[:], uint32(call<<1|direction)<<16|uint32(i))
	binary.BigEndian.PutUint32(key[4:], uint32(len(b)))
	n := copy(b, key[:])
	for n > 0 && n < len(b) { // numbers in between, so that no two parts are the same
		k := copy(b[n:], b[:n])
		b[n] ^= byte(n >> 3)
		n += k
	}
}

func (w *world) payload(call, direction, i, n int) transport.Payload {
	if n < 1024 {
		b := make([]byte, n)
		fill(b, call, direction, i)
		return transport.Payload{Data: transport.OnePiece(mem.SliceBuffer(b))}
	}
	b := w.pool.Get(n)
	fill(*b, call, direction, i)
	return transport.Payload{Data: transport.OnePiece(mem.NewBuffer(b, w.pool))}
}

// check compares a message that has arrived with the one that was sent.
func (w *world) check(m transport.Message, call, direction, i int, want []int) {
	b := m.Data.ReadOnlyData()
	if i >= len(want) {
		w.fail("call %d, direction %d: a message %d that nobody has sent", call, direction, i)
	} else if len(b) != want[i] {
		w.fail("call %d, direction %d, message %d: %d bytes, %d were sent", call, direction, i, len(b), want[i])
	} else {
		if cap(w.scratch) < len(b) {
			w.scratch = make([]byte, len(b), max(2*len(b), 4096))
		}
		wanted := w.scratch[:len(b)]
		fill(wanted, call, direction, i)
		if !bytes.Equal(wanted, b) {
			w.fail("call %d, direction %d, message %d is not as it was sent", call, direction, i)
		}
	}
	m.Data.Free()
}

// cancel ends a call early.
func (k *call) cancel() {
	if k.over || k.cancelled || k.end == nil {
		return
	}
	k.w.note(nil, "call %d is cancelled", k.n)
	k.cancelled = true
	if k.watched && k.stream != nil {
		k.w.program("cancel", func() { k.stream.Cancel(context.Canceled) })
	}
	k.end()
}

// run is the client's program.
func (k *call) run() {
	if k.race != nil && !k.race.begins(k) {
		return
	}
	k.attempt()
	switch {
	case k.race != nil:
		k.race.ended(k)
	case k.rpc != nil:
		k.rpc.judge(k)
	}
}

// attempt makes the call, and follows it to its end.
func (k *call) attempt() {
	if k.w.balanced != nil {
		k.w.balanced.attempt(k)
		return
	}
	w, l := k.w, k.link
	w.await(atProgram, l.near, func() bool { return l.connected })
	ctx, cancel := k.context()
	defer cancel()
	if l.client == nil {
		k.over, k.status, k.senderDone = true, codes.Unavailable, true
		k.openErr, k.unsent = l.connectErr, true
		return
	}
	c := k.request()
	first, last := k.firstMessage()
	k.opens()
	s, err := l.client.NewStream(ctx, c, first, last)
	w.yield(atProgram, l.near)
	k.opened(ctx, s, err, errors.Is(err, transport.ErrUnavailable), last)
}

// context is that of the call, which begins.
func (k *call) context() (ctx context.Context, cancel context.CancelFunc) {
	k.begun = time.Now()
	if k.deadline > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), k.deadline)
	} else {
		ctx, cancel = context.WithCancel(context.Background())
	}
	k.end = cancel
	return ctx, cancel
}

func (k *call) request() *transport.Call {
	return &transport.Call{Method: "/sim/" + strconv.Itoa(k.n), MaxRecvMsgSize: 1 << 20, Watched: k.watched}
}

// firstMessage is what is sent along with the request, if there is a message. last says that no other follows:
// where there is none at all the request's HEADERS say so.
func (k *call) firstMessage() (first *transport.Payload, last bool) {
	if len(k.up) == 0 {
		return nil, !k.lazyClose
	}
	p := k.w.payload(k.n, 0, 0, k.up[0])
	k.sent = 1
	return &p, len(k.up) == 1 && !k.lazyClose
}

// opens notes that the stream is about to be opened.
func (k *call) opens() {
	k.began = true
	k.link.begins()
	k.w.note(k.link.near, "opens call %d: %s", k.n, k)
}

// opened follows the call whose stream is open, or could not be: unsent says that nothing of it was sent then.
func (k *call) opened(ctx context.Context, s *transport.ClientStream, err error, unsent, last bool) {
	w, l := k.w, k.link
	k.stream = s
	if err != nil {
		w.note(l.near, "does not open call %d: %v", k.n, err)
		k.openErr, k.unsent = err, unsent
		k.over, k.senderDone = true, true
		k.status = codeOf(err)
		k.checkOpen(err)
		return
	}
	if k.watched {
		context.AfterFunc(ctx, func() {
			w.program("end of a context", func() { s.Cancel(ctx.Err()) })
		})
	}
	k.closed = last
	if last {
		k.senderDone = true
	} else {
		w.program("sender", k.send)
	}
	k.receive(ctx)
}

func codeOf(err error) codes.Code {
	if errors.Is(err, transport.ErrUnavailable) {
		return codes.Unavailable
	}
	if st, ok := status.FromError(err); ok {
		return st.Code()
	}
	return status.FromContextError(err).Code()
}

// send is the client's other goroutine.
func (k *call) send() {
	w := k.w
	defer func() { k.senderDone = true }()
	for i := k.sent; i < len(k.up); i++ {
		last := i == len(k.up)-1 && !k.lazyClose
		err := k.stream.Send(w.payload(k.n, 0, i, k.up[i]), last)
		w.yield(atProgram, k.link.near)
		w.note(k.link.near, "call %d has sent message %d: %v", k.n, i, err)
		if err != nil {
			return
		}
		k.sent++
		k.closed = last
	}
	if !k.closed {
		err := k.stream.CloseSend()
		w.yield(atProgram, k.link.near)
		if err == nil {
			k.closed = true
		}
	}
}

// awaitsEnd reports whether the client waits for the end, or for a second message, before it takes the first.
func (k *call) awaitsEnd() bool { return !k.unary && k.lazyClose && len(k.down) > 1 }

func (k *call) receive(ctx context.Context) {
	w := k.w
	switch {
	case k.awaitsEnd():
		k.awaiting = true
		k.stream.AwaitEnd()
		w.yield(atProgram, k.link.near)
		k.awaiting = false
	case k.unary:
		k.receiving = true
		k.stream.AwaitReply()
		w.yield(atProgram, k.link.near)
		k.receiving = false
	}
	for {
		if k.got == k.stopsAfter && !k.resumed {
			w.note(k.link.near, "call %d stops reading", k.n)
			w.reach(stoppedReading)
			w.await(atProgram, k.link.near, func() bool { return w.settling || ctx.Err() != nil })
			k.resumed = true
		}
		k.receiving = true
		m, err := k.stream.Recv()
		w.yield(atProgram, k.link.near)
		k.receiving = false
		if k.race != nil && k.stream.GotHeaders() {
			k.race.committed(k)
		}
		if err != nil {
			if err != io.EOF {
				w.fail("call %d: a receive fails: %v", k.n, err)
			}
			break
		}
		w.note(k.link.near, "call %d takes message %d", k.n, k.got)
		w.check(m, k.n, 1, k.got, k.down)
		k.got++
	}
	k.over, k.overAt = true, time.Now()
	k.status = k.stream.Status().Code()
	k.gotTrailers, k.unprocessed, k.gotHeaders = k.stream.GotTrailers(), k.stream.Unprocessed(), k.stream.GotHeaders()
	w.note(k.link.near, "call %d ends: %v %q", k.n, k.status, k.stream.Status().Message())
	k.checkEnd()
}

// String says what a call does.
func (k *call) String() string {
	return fmt.Sprintf("up %v down %v code %v deadline %v first %d all %v hangs %v stops %d unary %v watched %v handed %v",
		k.up, k.down, k.code, k.deadline, k.readsFirst, k.readsAll, k.hangs, k.stopsAfter, k.unary, k.watched, k.handed)
}
