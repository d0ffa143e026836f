// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/status"
)

// handlerBody reads the messages of a request of net/http. A read there can't be
// called off, so a goroutine does it: begun by the first Recv, two messages ahead at
// most, ended by the end of the request's body.
type handlerBody struct {
	ctx    context.Context // the call's
	in     io.ReadCloser
	handed *atomic.Pointer[handedResponse] // the call's
	asm    grpcwire.Assembler              // the goroutine's

	begun    bool // by the one who receives
	err      error
	messages chan handlerMessage
}

// maxRead bounds one read of a body, as the end of the message that is being read does.
const maxRead = 1 << 20

// minReserve is the memory, in bytes, that a message begins with: net/http doesn't tell how
// much of it has arrived.
const minReserve = 4 << 10

// handlerMessage is a message, or why there is none.
type handlerMessage struct {
	grpcwire.Message
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
	b.begin()
	select {
	case m := <-b.messages:
		b.err = m.err
		return m.Message, m.err
	case <-b.ctx.Done():
		b.err = status.FromContextError(b.ctx.Err()).Err()
		return grpcwire.Message{}, b.err
	}
}

// begin begins to read, once.
func (b *handlerBody) begin() {
	if b.begun {
		return
	}
	b.begun = true
	b.messages = make(chan handlerMessage, 1)
	go b.read()
}

// read hands over messages until the body or the call is over.
func (b *handlerBody) read() {
	defer b.asm.Abort()
	for {
		m, err := b.next()
		select {
		case b.messages <- handlerMessage{m, err}:
			b.handed.Load().wake()
			if b.ctx.Err() != nil {
				b.drop() // perhaps nobody comes for it
			}
		case <-b.ctx.Done():
			if err == nil {
				m.Data.Free()
			}
			return
		}
		if err != nil {
			return
		}
	}
}

// next reads one message.
func (b *handlerBody) next() (grpcwire.Message, error) {
	for {
		n, readErr := b.in.Read(b.asm.Space(maxRead, minReserve))
		m, complete, err := b.asm.Filled(n)
		switch {
		case err != nil:
			return m, status.Convert(err).Err()
		case complete:
			return m, nil // a read error comes again
		case readErr == nil:
		case !errors.Is(readErr, io.EOF):
			return m, b.readError(readErr)
		default:
			if err := b.asm.End(); err != nil {
				return m, status.Convert(err).Err()
			}
			return m, io.EOF
		}
	}
}

// release makes the goroutine end, after the call's context did.
func (b *handlerBody) release() {
	_ = b.in.Close() // a read that is under way returns
	b.drop()
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

// readError is the status for a request's body that net/http gave up with err.
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

// contextError is the status for a call whose context has ended, or is about to; nil if neither.
func contextError(ctx context.Context) error {
	if cause := ctx.Err(); cause != nil {
		return status.FromContextError(cause).Err()
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return status.FromContextError(context.DeadlineExceeded).Err()
	}
	return nil
}

// resetCode is the error code of the RST_STREAM that err is about. The types for that, StreamError
// of net/http and of golang.org/x/net/http2, can't be named here: the first is not exported, and
// this module does without the second.
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
