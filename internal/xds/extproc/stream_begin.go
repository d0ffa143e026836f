// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"time"

	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/metadata"
)

// Begin implements rpcconfig.Interceptor.
func (f *filter) Begin(ctx context.Context, rpc rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	s := newStream(newProcess(ctx, f, rpc))
	if err := s.nested(); err != nil {
		s.fail(err)
	}
	if s.config.Mode.Request.Headers {
		s.showRequestHeaders()
	}
	if s.answersLater() {
		// Meanwhile the external processor gets the messages that the application sends.
		go s.begin(rpc.Later(next))
		return s, nil
	}
	if s.begin(next); s.beginErr != nil {
		return nil, s.beginErr
	}
	return s, nil
}

// answersLater reports whether the external processor may want messages before it answers the
// headers.
func (p *process) answersLater() bool {
	return p.config.Mode.Request.Headers && p.config.Mode.Request.Messages && !p.config.Observe && !p.config.AllowOverride
}

// begin begins the RPC with the headers that the external processor has returned. It always calls
// next.
func (s *stream) begin(next func(context.Context) (rpcconfig.Stream, error)) {
	defer close(s.started)
	ctx := s.ctx
	if s.config.Mode.Request.Headers {
		md, err := s.requestHeaders()
		if err != nil {
			s.cancel()
		}
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	s.inner, s.beginErr = next(ctx)
	if s.beginErr != nil {
		if err := s.failure(); err != nil {
			s.beginErr = err
		}
		close(s.sends.pumped)
		s.finish()
		return
	}
	if s.modeNow().Request.Messages && !s.config.Observe {
		go s.pumpRequests()
	} else {
		close(s.sends.pumped)
	}
}

// showRequestHeaders sends the first event, the request headers.
func (p *process) showRequestHeaders() {
	p.began = time.Now()
	md, _ := metadata.FromOutgoingContext(p.ctx)
	p.put(requestHeaders, p.headersEvent(md))
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
