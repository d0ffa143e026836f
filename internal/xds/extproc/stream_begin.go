// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Begin implements rpcconfig.Interceptor.
func (f *filter) Begin(ctx context.Context, rpc rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	if rpc.Held && f.config.needsReceiver() {
		return nil, errHeld
	}
	s := newStream(newProcess(ctx, f, rpc))
	if err := s.nested(); err != nil {
		s.fail(err)
	}
	if s.config.Mode.Request.Headers {
		s.showRequestHeaders()
	}
	next = rpc.Later(next) // in any case: a method of the stream that ends the RPC may hold a lock
	if s.config.answersLater() {
		// Meanwhile the external processor gets the messages that the application sends.
		go s.begin(next)
		return s, nil
	}
	if s.begin(next); s.beginErr != nil {
		return nil, s.beginErr
	}
	return s, nil
}

// answersLater reports whether the external processor may want messages before it answers the
// headers.
func (c *Config) answersLater() bool {
	return c.Mode.Request.Headers && c.Mode.Request.Messages && !c.Observe && !c.AllowOverride
}

// errHeld is how RPCs fail that do not ask this package's stream when there is something to receive.
var errHeld = status.Error(codes.Unimplemented, "extproc: an RPC that is received by callback cannot wait for what the external processor returns")

// needsReceiver reports whether only a program that calls the stream's methods gets what the external processor returns.
func (c *Config) needsReceiver() bool {
	return !c.Observe && (c.Mode.Response.Messages || c.AllowOverride || c.answersLater())
}

// errLeft is how an RPC ends whose goroutine is left by code of the program.
var errLeft = status.Error(codes.Internal, "extproc: code that the RPC has called exited without a result")

// begin begins the RPC with the headers that the external processor has returned. It always calls
// next.
func (s *stream) begin(next func(context.Context) (rpcconfig.Stream, error)) {
	defer close(s.started)
	called := false
	defer func() {
		if s.inner != nil || s.beginErr != nil {
			return
		}
		s.end(errLeft) // code of the program panics, or calls runtime.Goexit
		s.failToBegin(errLeft)
		if !called {
			_, _ = next(s.ctx) // which has ended
		}
	}()
	ctx := s.ctx
	if s.config.Mode.Request.Headers {
		md, err := s.requestHeaders()
		if err != nil {
			s.cancel()
		}
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	called = true
	s.inner, s.beginErr = next(ctx)
	if s.beginErr != nil {
		s.failToBegin(cmp.Or(s.failure(), s.beginErr))
		return
	}
	if s.modeNow().Request.Messages && !s.config.Observe {
		go s.pumpRequests()
	} else {
		close(s.sends.pumped)
	}
}

// failToBegin ends an RPC that has not begun.
func (s *stream) failToBegin(err error) {
	s.beginErr = err
	close(s.sends.pumped)
	s.finish()
}

// showRequestHeaders sends the first event, the request headers.
func (p *process) showRequestHeaders() {
	shown := false
	defer func() {
		if !shown { // code of the program that opens the stream panics, or calls runtime.Goexit
			p.finish()
		}
	}()
	p.began = time.Now()
	md, _ := metadata.FromOutgoingContext(p.ctx)
	p.put(requestHeaders, p.headersEvent(md))
	shown = true
}

// requestHeaders returns the metadata with which the RPC goes on.
func (p *process) requestHeaders() (metadata.MD, error) {
	md, _ := metadata.FromOutgoingContext(p.ctx)
	answer, err := p.await(requestHeaders)
	if err != nil || answer == nil {
		return md, err
	}
	out, err := p.mutate(md, answer)
	if err == nil {
		p.record(clientHeaders, p.began)
	}
	return out, err
}
