// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/status"
)

// handlerBody reads the messages of a request of net/http. A read there can't be cancelled, so a goroutine
// does it. The first Recv starts that goroutine, it reads at most two messages ahead, and the end of the
// request's body ends it. If many small messages come, a read brings several, and the goroutine hands them
// over together: otherwise each would cost two reads, and the two goroutines would wake each other for
// each.
type handlerBody struct {
	ctx      context.Context // the call's
	in       io.ReadCloser
	handed   *atomic.Pointer[handedResponse] // the call's
	messages chan handlerMessage
	done     chan struct{} // closed when the goroutine does not touch the body any more

	// Owned by the goroutine that reads.
	asm    grpcwire.Assembler
	chunk  []byte // where several messages are read to; nil: few small ones have come so far
	unread []byte // the part of chunk that was not looked at yet
	small  int    // how many small messages have come in a row
	late   error  // an error that came with bytes; the next read returns it

	// Owned by the receiver.
	err   error
	bound *bound        // nil: there is none
	run   *grpcwire.Run // small messages that came with the last one; nil: none did

	mu       sync.Mutex // orders begin and release, as a program's goroutine may call recv when its handler has returned
	released bool
}

const (
	chunkSize = 512
	// manySmall is how many small messages in a row make it likely that more come.
	manySmall = 4
)

// maxRead bounds one read of a body. A read also ends with the message that is being read.
const maxRead = 1 << 20

// minReserve is how many bytes of memory a message begins with: net/http doesn't tell how much of it has
// arrived.
const minReserve = 4 << 10

// handlerMessage is a message, with small ones that follow it, or why there is none.
type handlerMessage struct {
	grpcwire.Message
	run *grpcwire.Run // need not be freed; nil: none follow
	err error
}

func (b *handlerBody) init(in io.ReadCloser, cfg *ServerConfig) {
	b.in = in
	b.asm.Init(&cfg.BufferPool, cfg.MaxRecvMsgSize)
}

func (b *handlerBody) recv() (grpcwire.Message, error) {
	if b.err != nil {
		return grpcwire.Message{}, b.err
	}
	if b.follows() {
		// What is in the channel comes behind the run. Without the run it must not be returned.
		if b.ctx.Err() != nil {
			return b.giveUp()
		}
		return b.run.Next(), nil
	}
	b.begin()
	select {
	case m := <-b.messages:
		return b.took(m)
	case <-b.ctx.Done():
		return b.giveUp()
	case <-b.bound.done():
	}
	select {
	case m := <-b.messages: // it need not be waited for
		return b.took(m)
	default:
		b.err = b.bound.err()
		return grpcwire.Message{}, b.err
	}
}

// took keeps what follows m, and returns what recv does.
func (b *handlerBody) took(m handlerMessage) (grpcwire.Message, error) {
	b.err, b.run = m.err, m.run
	return m.Message, m.err
}

// giveUp returns the status of a call whose context has ended. Later calls of recv return it again.
func (b *handlerBody) giveUp() (grpcwire.Message, error) {
	b.run = nil
	b.err = status.FromContextError(b.ctx.Err()).Err()
	return grpcwire.Message{}, b.err
}

// follows reports whether there is a message that came with the last one.
func (b *handlerBody) follows() bool { return b.run != nil && !b.run.Empty() }

// ready reports whether recv would not wait. Only the receiver calls it.
func (b *handlerBody) ready() bool { return b.err != nil || b.follows() || len(b.messages) > 0 }

// begin starts the goroutine that reads, once, and not after release.
func (b *handlerBody) begin() {
	if b.messages != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released {
		return // recv finds the context ended
	}
	b.messages = make(chan handlerMessage, 1)
	b.done = make(chan struct{})
	go b.read()
}

// read hands over messages until the body or the call is over.
func (b *handlerBody) read() {
	defer close(b.done)
	defer b.asm.Abort()
	for {
		m := b.next()
		select {
		case b.messages <- m:
			b.handed.Load().wake()
			if b.ctx.Err() != nil {
				b.drop() // perhaps nobody comes for it
				return   // whoever comes yet must not find what follows it
			}
		case <-b.ctx.Done():
			if m.err == nil {
				m.Data.Free()
			}
			return
		}
		if m.err != nil {
			return
		}
	}
}

// next reads one message, and takes small ones that came with it.
func (b *handlerBody) next() handlerMessage {
	m, err := b.one()
	if err != nil {
		return handlerMessage{err: err}
	}
	if b.small++; !grpcwire.IsSmall(m) {
		b.small = 0
	}
	if !b.asm.SmallNext(b.unread) {
		return handlerMessage{Message: m}
	}
	run := new(grpcwire.Run)
	n, _ := b.asm.TakeSmall(b.unread, run)
	b.unread = b.unread[n:]
	return handlerMessage{Message: m, run: run}
}

func (b *handlerBody) one() (grpcwire.Message, error) {
	for {
		m, complete, readErr, err := b.more()
		switch {
		case err != nil:
			return m, status.Convert(err).Err()
		case complete:
			return m, nil
		case readErr == nil:
		case readErr != io.EOF:
			return m, b.readError(readErr)
		default:
			if err := b.asm.End(); err != nil {
				return m, status.Convert(err).Err()
			}
			return m, io.EOF
		}
	}
}

// more takes bytes that were read before, or reads: into the chunk, or into the memory of a long message.
func (b *handlerBody) more() (m grpcwire.Message, complete bool, readErr, err error) {
	if len(b.unread) == 0 && b.small >= manySmall && b.asm.Missing() < chunkSize {
		if b.chunk == nil {
			b.chunk = make([]byte, chunkSize)
		}
		n, readErr := b.readBody(b.chunk)
		if b.unread = b.chunk[:n]; n == 0 {
			return m, false, readErr, nil
		}
	}
	if len(b.unread) > 0 {
		n, m, complete, err := b.asm.Take(b.unread, minReserve)
		b.unread = b.unread[n:]
		return m, complete, nil, err
	}
	n, readErr := b.readBody(b.asm.Space(maxRead, minReserve))
	m, complete, err = b.asm.Filled(n)
	return m, complete, readErr, err
}

// readBody reads the body. The body of a program's middleware need not repeat an error that comes with bytes.
func (b *handlerBody) readBody(p []byte) (int, error) {
	if b.late != nil {
		return 0, b.late
	}
	n, err := b.in.Read(p)
	if n > 0 {
		b.late, err = err, nil
	}
	return n, err
}

// release makes the goroutine end, and waits for it, as net/http forbids to read the body once ServeHTTP has returned.
// The call's context must have ended.
func (b *handlerBody) release() {
	b.mu.Lock()
	b.released = true
	begun := b.messages != nil
	b.mu.Unlock()
	_ = b.in.Close() // a read that is under way returns
	if begun {
		b.awaitRead()
	}
	b.drop()
}

// closePatience is how long a read that is under way may go on after Close. Bodies of net/http end it at once. If that of
// a middleware does not pass Close on (io.NopCloser), the read ends when net/http closes the body below it: after
// ServeHTTP. Waiting longer would keep the end of the call from the client.
const closePatience = time.Second

func (b *handlerBody) awaitRead() {
	select {
	case <-b.done: // most often: it needs no timer
		return
	default:
	}
	timer := time.NewTimer(closePatience)
	defer timer.Stop()
	select {
	case <-b.done:
	case <-timer.C:
	}
}

// drop frees a message that nobody came for.
func (b *handlerBody) drop() {
	select {
	case m := <-b.messages:
		if m.err == nil {
			m.Data.Free()
		}
	default:
	}
}

// readError returns the status for a request's body that net/http gave up with err.
func (b *handlerBody) readError(err error) error {
	if gaveUp := contextError(b.ctx); gaveUp != nil {
		return gaveUp
	}
	code := codes.Unavailable
	if reset, ok := resetCode(err); ok {
		code = grpcwire.RSTCode(reset)
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		code = codes.Internal
	}
	return status.Error(code, err.Error())
}

// contextError returns the status for a call whose context has ended, or is about to; nil if neither.
func contextError(ctx context.Context) error {
	if cause := ctx.Err(); cause != nil {
		return status.FromContextError(cause).Err()
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return status.FromContextError(context.DeadlineExceeded).Err()
	}
	return nil
}

// resetCode returns the error code of the RST_STREAM that err reports. The types of such errors,
// StreamError of net/http and of golang.org/x/net/http2, can't be named here: the first is not exported,
// and this module does without the second.
func resetCode(err error) (code uint32, ok bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		v := reflect.ValueOf(err)
		if v.Kind() != reflect.Struct || !strings.HasSuffix(v.Type().Name(), "StreamError") {
			continue
		}
		if f := v.FieldByName("Code"); f.IsValid() && f.Kind() == reflect.Uint32 {
			return uint32(f.Uint()), true
		}
	}
	return 0, false
}
