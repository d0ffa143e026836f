// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"errors"
	"sync"
	"time"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/mutation"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

var logger = grpclog.Component("xds")

// process is the external processing of one RPC. It is over once nothing more is sent to the
// server or taken from it: the RPC goes on without the server, or has failed, or has ended.
type process struct {
	filter *filter
	config *Config
	rpc    rpcconfig.RPC
	ctx    context.Context // the context of the RPC
	cancel func()          // ends ctx; the RPC ends with err if that is set. The caller must not hold mu
	forget func()          // undoes the call of httpfilter.Memory.AtEnd

	began time.Time
	over  chan struct{} // closed when the process is over
	// requests and responses have the messages with which the RPC goes on.
	requests, responses *queue

	line line // line.mu is locked before mu

	mu       sync.Mutex
	mode     Mode
	isOver   bool
	fellOpen bool // the process is over because the server failed, and the RPC goes on
	finished bool
	asked    bool // the server has asked to drain
	// immediate is the immediate response with which the server ended the RPC.
	immediate *procv3.ImmediateResponse
	err       error              // the error with which the RPC fails
	abort     context.CancelFunc // ends the stream; nil if there is no stream
	linger    *time.Timer        // calls abort a while after the end of the RPC
	watch     func() bool        // stops watching ctx
	received  chan struct{}      // closed when no response is handled any more; nil if there is no stream
	returned  int                // the number of response messages that the server has returned
	dialogue  dialogue           // its answers are received without mu
}

// line is the sending side of the stream to the server. mu guards all of it.
type line struct {
	mu       sync.Mutex                             // held while an event is sent
	stream   procv3.ExternalProcessor_ProcessClient // nil until the first event
	drains   bool                                   // the server has asked for no more events
	shown    kept                                   // the request messages that have been sent
	closed   bool                                   // the end of the request has been sent
	closedAt time.Time
}

func newProcess(ctx context.Context, f *filter, rpc rpcconfig.RPC) *process {
	p := &process{
		filter: f, config: f.config, rpc: rpc, mode: f.config.Mode, over: make(chan struct{}),
		requests: newQueue(), responses: newQueue(), dialogue: newDialogue(),
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() {}
	if t := rpc.Timeout; t != nil {
		ctx, stop = context.WithTimeout(ctx, *t)
	}
	p.ctx = ctx
	p.cancel = func() {
		var cause error
		if err := p.failure(); err != nil {
			cause = rpc.Cause(err)
		}
		cancel(cause)
		stop()
	}
	p.forget = f.memory.AtEnd(p.cancel)
	p.mu.Lock()
	defer p.mu.Unlock() // p.cancelled may be called at once
	p.watch = context.AfterFunc(p.ctx, p.cancelled)
	return p
}

func (p *process) modeNow() Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

// failure returns the error with which the RPC fails because of the server, or nil.
func (p *process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// await returns the answer to q. It returns nil if there is no answer to wait for. The error is
// the one with which the RPC fails.
func (p *process) await(q question) (*answer, error) {
	if p.config.Observe {
		return nil, p.failure()
	}
	p.waits(1)
	defer p.waits(-1)
	select {
	case a := <-p.dialogue.answers[q]:
		return &a, nil
	case <-p.over:
	}
	select { // if both were ready, the answer counts even though the process is over
	case a := <-p.dialogue.answers[q]:
		return &a, p.failure()
	default:
		return nil, p.failure()
	}
}

// mutate applies the header changes of an answer.
func (p *process) mutate(md metadata.MD, a *answer) (metadata.MD, error) {
	out, err := p.config.Rules.Apply(md, a.headers.GetSetHeaders(), a.headers.GetRemoveHeaders())
	var disallowed mutation.DisallowedError
	switch {
	case err == nil:
		return out, nil
	case errors.As(err, &disallowed):
		p.end(status.Errorf(codes.Internal, "extproc: %v", err))
	default:
		p.fail(err)
	}
	return md, p.failure()
}

// fail ends the process because the server has failed. The RPC goes on without the server if
// that is allowed, and otherwise fails.
func (p *process) fail(err error) {
	if p.config.AllowFailure {
		if logger.V(2) {
			logger.Infof("extproc: an RPC goes on without %q: %v", p.config.Service.Target, err)
		}
		p.mu.Lock()
		p.fellOpen = !p.isOver || p.fellOpen
		p.mu.Unlock()
		p.end(nil)
		return
	}
	p.end(status.Errorf(codes.Internal, "extproc: external processor RPC failed: %v", err))
}

// failedOpen reports whether the RPC goes on without the server because the server failed.
func (p *process) failedOpen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fellOpen
}

var errKept = status.Error(codes.Internal, "extproc: the external processor ended its stream and kept the RPC's message")

// end ends the process. If err is not nil, the RPC ends with it, even if the process was over
// already, but not if the RPC has ended. Only the first error counts.
func (p *process) end(err error) {
	p.mu.Lock()
	switch over := p.ctx.Err(); {
	case p.finished || p.err != nil:
		err = nil
	case err != nil && over != nil: // cancelled would come too late
		p.err = status.FromContextError(over).Err()
		err = nil
	}
	if !p.isOver {
		p.isOver = true
		close(p.over)
	}
	if err != nil {
		p.err = err
	}
	abort := p.abort
	if p.finished || p.config.Observe && err == nil {
		abort = nil
	}
	p.mu.Unlock()
	p.requests.close()
	if err != nil {
		p.responses.close()
		p.cancel()
	}
	if abort != nil {
		abort()
	}
}

// cancelled is called when the RPC's context ends.
func (p *process) cancelled() {
	if p.config.Observe {
		p.finish()
		return
	}
	p.mu.Lock()
	if !p.isOver && !p.finished && p.unansweredLocked() {
		p.err = status.FromContextError(p.ctx.Err()).Err()
	}
	p.mu.Unlock()
	p.end(nil) // the RPC itself reports how it ended
	p.release()
}

// unansweredLocked reports whether something may have come, or may come yet, that the server has not answered: it must not
// reach the application when the RPC's context ends.
func (p *process) unansweredLocked() bool {
	r := p.mode.Response
	return r.Headers && !p.dialogue.answered[responseHeaders] || r.Messages || r.Trailers
}

// grace is how long the server may take to end its stream after the end of an RPC.
const grace = time.Second

// finish is called when the RPC has ended. It ends the stream to the server.
func (p *process) finish() {
	p.mu.Lock()
	if p.finished {
		p.mu.Unlock()
		return
	}
	p.finished = true
	p.mu.Unlock()
	gone := p.ctx.Err() != nil // nobody waits any longer
	p.end(nil)
	p.release()
	p.mu.Lock()
	abort := p.abort
	p.mu.Unlock()
	if abort == nil {
		return
	}
	switch {
	case p.line.mu.TryLock():
		p.part(abort)
		p.line.mu.Unlock()
	case p.config.Observe && !gone: // a goroutine is in Send, and what it sends is to arrive
		p.lingerFor(p.config.Linger, abort)
		go func() {
			p.line.mu.Lock()
			defer p.line.mu.Unlock()
			if st := p.line.stream; st != nil {
				_ = st.CloseSend()
			}
		}()
	default: // a goroutine is in Send, where it may be blocked
		abort()
	}
}

// part ends the sending side, and aborts the stream a while later. The caller holds the lock of the line.
func (p *process) part(abort func()) {
	if p.line.stream == nil {
		return
	}
	_ = p.line.stream.CloseSend()
	linger := grace
	if p.config.Observe {
		linger = p.config.Linger
	}
	p.lingerFor(linger, abort)
}

// lingerFor aborts the stream after d, unless it has ended by then.
func (p *process) lingerFor(d time.Duration, abort func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.received:
	default:
		p.linger = time.AfterFunc(d, abort)
	}
}

// release frees what the process holds while the RPC goes on.
func (p *process) release() {
	p.responses.close()
	p.mu.Lock()
	watch := p.watch
	p.mu.Unlock()
	watch()
	p.forget()
	p.cancel()
}
