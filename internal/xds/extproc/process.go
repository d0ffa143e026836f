// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"errors"
	"io"
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

// question is an event that the RPC waits for the answer to.
type question int

const (
	requestHeaders question = iota
	responseHeaders
	responseTrailers
	questions
)

// answer is one to a question.
type answer struct {
	headers   *procv3.HeaderMutation
	immediate *procv3.ImmediateResponse // to responseTrailers alone
}

// process is what an RPC has with the server. It is over when nothing is sent to the server any
// more, nor taken from it: either the RPC goes on without it, or it fails, or it has ended.
type process struct {
	filter *filter
	config *Config
	rpc    rpcconfig.RPC
	ctx    context.Context // of the RPC
	cancel context.CancelFunc
	forget func() // ends that of the channel

	began   time.Time
	over    chan struct{} // closed when it is over
	answers [questions]chan answer
	// requests and responses are the messages that go on.
	requests, responses *queue

	sendMu   sync.Mutex // one event at a time; it comes before mu
	stream   procv3.ExternalProcessor_ProcessClient
	drains   bool // the server has asked for the end of events
	closed   bool // the request's end was sent to the server
	closedAt time.Time

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
	asked     [questions]bool
	answered  [questions]bool
}

func newProcess(ctx context.Context, f *filter, rpc rpcconfig.RPC) *process {
	p := &process{
		filter: f, config: f.config, rpc: rpc, mode: f.config.Mode, over: make(chan struct{}),
		requests: newQueue(), responses: newQueue(),
	}
	for q := range p.answers {
		p.answers[q] = make(chan answer, 1)
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

// errOver means that the event was not sent.
var errOver = errors.New("extproc: over")

// send sends an event. If it is errOver, failure says whether the RPC goes on without the server.
func (p *process) send(r *procv3.ProcessingRequest) error {
	p.sendMu.Lock()
	if p.drains { // what follows waits until the server has returned what it has
		p.sendMu.Unlock()
		<-p.over
		return errOver
	}
	defer p.sendMu.Unlock()
	return p.sendLocked(r)
}

func (p *process) sendLocked(r *procv3.ProcessingRequest) error {
	select {
	case <-p.over:
		return errOver
	default:
	}
	if p.stream == nil {
		mode := p.modeNow()
		r.ProtocolConfig = &procv3.ProtocolConfiguration{
			RequestBodyMode: bodyMode(mode.RequestMessages), ResponseBodyMode: bodyMode(mode.ResponseMessages),
		}
		if err := p.open(); err != nil {
			p.fail(err)
			return errOver
		}
	}
	r.ObservabilityMode = p.config.Observe
	switch err := p.stream.Send(r); {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF): // receive finds out why
		<-p.over
	default:
		p.fail(err)
	}
	return errOver
}

// open begins the stream.
func (p *process) open() error {
	lease, err := p.filter.channels.Open(p.config.Service)
	if err != nil {
		return err
	}
	ctx, abort := p.config.Service.Context(context.WithoutCancel(p.ctx))
	p.mu.Lock()
	p.abort = abort
	over := p.isOver
	p.mu.Unlock()
	if over { // it was in the meantime
		abort()
	}
	st, err := procv3.NewExternalProcessorClient(lease).Process(ctx)
	if err != nil {
		abort()
		lease.Close()
		return err
	}
	p.stream = st
	go func() {
		p.receive(st)
		abort()
		lease.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.linger != nil {
			p.linger.Stop()
		}
	}()
	return nil
}

// ask sends an event and waits for the answer.
func (p *process) ask(q question, r *procv3.ProcessingRequest) (*answer, error) {
	p.put(q, r)
	return p.await(q)
}

// put sends an event that has an answer.
func (p *process) put(q question, r *procv3.ProcessingRequest) {
	p.mu.Lock()
	p.asked[q] = true
	p.mu.Unlock()
	_ = p.send(r) // whoever awaits the answer finds out
}

// await returns the answer. It is nil if there is none to wait for, and the error is that of the
// RPC.
func (p *process) await(q question) (*answer, error) {
	if p.config.Observe {
		return nil, p.failure()
	}
	select {
	case a := <-p.answers[q]:
		return &a, nil
	case <-p.over:
	}
	select { // both may be there
	case a := <-p.answers[q]:
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
	if !p.sendMu.TryLock() { // whoever sends is held up
		abort()
		return
	}
	defer p.sendMu.Unlock()
	if p.stream == nil {
		return
	}
	_ = p.stream.CloseSend()
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
