// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"io"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/status"
)

// server is the world as the handler of all connections.
type server world

// NewStream implements transport.ServerHandler.
func (*server) NewStream(transport.Method) (*transport.ServerStream, int) { return nil, 0 }

// Refuses implements transport.ServerHandler.
func (h *server) Refuses(s *transport.ServerStream) *status.Status {
	k := h.calls[h.number(s)]
	if !k.refused {
		return nil
	}
	k.w.note(k.link.far, "refuses call %d", k.n)
	return status.New(k.code, "as was asked for")
}

// number is that of the call of a stream.
func (h *server) number(s *transport.ServerStream) int {
	n, err := strconv.Atoi(strings.TrimPrefix(s.Method(), "/sim/"))
	if err != nil || n >= len(h.calls) {
		(*world)(h).fail("a call of %q that nobody has made", s.Method())
		return 0
	}
	return n
}

// Unparkable implements transport.ServerHandler.
func (h *server) Unparkable(*transport.Server, string) { (*world)(h).reach(unparkable) }

func (h *server) ConnTold(*transport.Server, error) {}

// ConnClosed implements transport.ServerHandler.
func (h *server) ConnClosed(c *transport.Server, err error) {
	for _, l := range h.links {
		if l.server == c {
			l.serverClosed++
			l.serverCause = err
			l.ended(l.far, err, l.serverClosed)
		}
	}
}

// HandleStream implements transport.ServerHandler.
func (h *server) HandleStream(s *transport.ServerStream) {
	w := (*world)(h)
	w.yield(atProgram, nil)
	n := h.number(s)
	k := w.calls[n]
	k.streamServer, k.handledAt = s, time.Now()
	if k.handled++; k.handled > 1 {
		w.fail("call %d is served twice", n)
	}
	w.note(k.link.far, "serves call %d", n)
	if k.handed {
		o := &owner{k: k, s: s}
		if err := s.HandOver(o); err != nil {
			w.fail("call %d is not handed over: %v", n, err)
		}
		w.yield(atProgram, k.link.far)
		o.HandlerReturned()
		return
	}
	k.handle(s)
	w.yield(atProgram, k.link.far)
	k.handlerDone = true
	w.note(k.link.far, "has served call %d: %v", n, k.finishErr)
}

func (k *call) handle(s *transport.ServerStream) {
	w := k.w
	if k.headerFirst {
		_ = s.SendHeader(nil)
		w.yield(atProgram, k.link.far)
	}
	for i := 0; i < k.readsFirst && k.take(s); i++ {
	}
	if k.unary && k.code == codes.OK && !k.hangs {
		for k.take(s) {
		}
		k.handlerSent = 1
		k.finishErr = s.Reply(w.payload(k.n, 1, 0, k.down[0]))
		w.yield(atProgram, k.link.far)
		k.finished = true
		return
	}
	for i, n := range k.down {
		err := s.Send(w.payload(k.n, 1, i, n))
		w.yield(atProgram, k.link.far)
		w.note(k.link.far, "call %d has replied with message %d: %v", k.n, i, err)
		if err != nil {
			k.handlerErr = err
			break
		}
		k.handlerSent++
		if i&1 == 1 {
			k.take(s)
		}
	}
	if k.readsAll && k.handlerErr == nil {
		for k.take(s) {
		}
	}
	if k.hangs {
		<-s.Context().Done()
		w.yield(atProgram, k.link.far)
	}
	k.finishErr = s.Finish(status.New(k.code, "as was asked for"))
	w.yield(atProgram, k.link.far)
	k.finished = true
}

// take receives a message, and reports whether there was one.
func (k *call) take(s *transport.ServerStream) bool {
	w := k.w
	if k.handlerSaw || k.handlerErr != nil {
		return false
	}
	k.taking = true
	m, err := s.Recv()
	w.yield(atProgram, k.link.far)
	k.taking = false
	switch {
	case err == io.EOF:
		k.handlerSaw = true
		k.checkAllArrived()
		return false
	case err != nil:
		k.handlerErr = err
		w.note(k.link.far, "call %d: a receive fails: %v", k.n, err)
		k.checkHandlerErr(err)
		return false
	}
	w.note(k.link.far, "call %d: message %d arrives", k.n, k.handlerGot)
	w.check(m, k.n, 0, k.handlerGot, k.up)
	k.handlerGot++
	return true
}
