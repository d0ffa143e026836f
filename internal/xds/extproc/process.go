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

// process is what an RPC has with the server. It is over when nothing is sent to the server any
// more, nor taken from it: either the RPC goes on without it, or it fails, or it has ended.
type process struct {
	filter *filter
	config *Config
	rpc    rpcconfig.RPC
	ctx    context.Context // of the RPC
	cancel context.CancelFunc
	forget func() // ends that of the channel

	began time.Time
	over  chan struct{} // closed when it is over
	// requests and responses are the messages that go on.
	requests, responses *queue

	line line // its lock comes before mu

	mu       sync.Mutex
	mode     Mode
	isOver   bool
	fellOpen bool // it is over because the server failed, and that is allowed
	finished bool
	// immediate is how the server had the RPC end.
	immediate *procv3.ImmediateResponse
	err       error              // how the RPC fails
	abort     context.CancelFunc // ends the stream; nil: there is none
	linger    *time.Timer        // does so after the RPC
	watch     func() bool        // ends the watch of ctx
	returned  int                // how many response messages the server has
	dialogue  dialogue           // its answers are awaited without mu
}

// line is the sending side of the stream to the external processor.
type line struct {
	mu       sync.Mutex                             // one event at a time
	stream   procv3.ExternalProcessor_ProcessClient // nil until the first
	drains   bool                                   // the server has asked for the end of events
	closed   bool                                   // the request's end was sent to the server
	closedAt time.Time
}

func newProcess(ctx context.Context, f *filter, rpc rpcconfig.RPC) *process {
	p := &process{
		filter: f, config: f.config, rpc: rpc, mode: f.config.Mode, over: make(chan struct{}),
		requests: newQueue(), responses: newQueue(), dialogue: newDialogue(),
	}
	p.ctx, p.cancel = context.WithCancel(ctx)
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

// failure is how the RPC fails because of the server, nil if it doesn't.
func (p *process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// await returns the answer. It is nil if there is none to wait for, and the error is that of the
// RPC.
func (p *process) await(q question) (*answer, error) {
	if p.config.Observe {
		return nil, p.failure()
	}
	select {
	case a := <-p.dialogue.answers[q]:
		return &a, nil
	case <-p.over:
	}
	select { // both were ready, perhaps: an answer counts though the RPC is over
	case a := <-p.dialogue.answers[q]:
		return &a, p.failure()
	default:
		return nil, p.failure()
	}
}

// mutate applies an answer.
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

// fail ends the process because of the server: so the RPC fails, or goes on without it.
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

// failedOpen reports whether the RPC goes on without the server because that failed.
func (p *process) failedOpen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fellOpen
}

var errKept = status.Error(codes.Internal, "extproc: the external processor ended its stream and kept the RPC's message")

// end ends the process. With an error the RPC ends, too, also if the process is over, but not if
// the RPC is. The first error counts.
func (p *process) end(err error) {
	p.mu.Lock()
	if p.finished || p.err != nil || p.ctx.Err() != nil {
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

// cancelled is called when the RPC's context is over.
func (p *process) cancelled() {
	if p.config.Observe {
		p.finish()
		return
	}
	p.end(nil) // the RPC says by itself how it ended
	p.release()
}

// grace is how long the server may take to end its stream after an RPC.
const grace = time.Second

// finish is called when the RPC has ended: the server hears so.
func (p *process) finish() {
	p.mu.Lock()
	if p.finished {
		p.mu.Unlock()
		return
	}
	p.finished = true
	p.mu.Unlock()
	p.end(nil)
	p.release()
	p.mu.Lock()
	abort := p.abort
	p.mu.Unlock()
	if abort == nil {
		return
	}
	if !p.line.mu.TryLock() { // whoever sends is held up
		abort()
		return
	}
	defer p.line.mu.Unlock()
	if p.line.stream == nil {
		return
	}
	_ = p.line.stream.CloseSend()
	linger := grace
	if p.config.Observe {
		linger = p.config.Linger
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.linger = time.AfterFunc(linger, abort)
}

// release gives up what is held while the RPC goes on.
func (p *process) release() {
	p.responses.close()
	p.mu.Lock()
	watch := p.watch
	p.mu.Unlock()
	watch()
	p.forget()
	p.cancel()
}
