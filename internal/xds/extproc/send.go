// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"errors"
	"io"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
)

// errOver means that the event was not sent because the process is over.
var errOver = errors.New("extproc: over")

// send sends an event. If it returns errOver, p.failure says whether the RPC fails or goes on
// without the server.
func (p *process) send(r *procv3.ProcessingRequest) error { return p.sendThen(r, func() {}) }

// sendThen sends an event, and calls sent if that succeeds. Who has line.mu sees neither the event
// without what sent notes nor the reverse.
func (p *process) sendThen(r *procv3.ProcessingRequest, sent func()) error {
	p.waits(1)
	defer p.waits(-1)
	p.line.mu.Lock()
	if p.line.drains { // the rest of the RPC waits until the server has returned what it has
		p.line.mu.Unlock()
		<-p.over
		return errOver
	}
	defer p.line.mu.Unlock()
	if err := p.sendLocked(r); err != nil {
		return err
	}
	sent()
	return nil
}

// waits notes that n more goroutines wait for the server. Meanwhile receive waits for nobody.
func (p *process) waits(n int) {
	p.requests.waits(n)
	p.responses.waits(n)
}

func (p *process) sendLocked(r *procv3.ProcessingRequest) error {
	select {
	case <-p.over:
		return errOver
	default:
	}
	if p.line.stream == nil {
		mode := p.modeNow()
		r.ProtocolConfig = &procv3.ProtocolConfiguration{
			RequestBodyMode: bodyMode(mode.Request.Messages), ResponseBodyMode: bodyMode(mode.Response.Messages),
		}
		if err := p.open(); err != nil {
			p.fail(err)
			return errOver
		}
	}
	r.ObservabilityMode = p.config.Observe
	switch err := p.line.stream.Send(r); {
	case err == nil:
		return nil
	case err == io.EOF: // receive gets the cause
		<-p.over
	default:
		p.fail(err)
	}
	return errOver
}

// open opens the stream.
func (p *process) open() error {
	lease, err := p.filter.channels.Open(p.config.Service)
	if err != nil {
		return err
	}
	ctx, abort := p.config.Service.Context(p.nest(context.WithoutCancel(p.ctx)))
	release := func() {
		abort()
		lease.Close()
	}
	receiving := false
	defer func() {
		if !receiving { // also if code of the program panics
			release()
		}
	}()
	p.mu.Lock()
	p.abort = abort
	over := p.isOver
	p.mu.Unlock()
	if over { // the process ended meanwhile
		abort()
	}
	st, err := procv3.NewExternalProcessorClient(lease).Process(ctx)
	if err != nil {
		return err
	}
	p.line.stream = st
	receiving = true
	p.startReceiving(st, release)
	return nil
}

// startReceiving starts a goroutine that handles the server's responses, and calls release after the last one.
func (p *process) startReceiving(st procv3.ExternalProcessor_ProcessClient, release func()) {
	received := make(chan struct{})
	p.mu.Lock()
	p.received = received
	p.mu.Unlock()
	go func() {
		p.receive(st)
		close(received)
		release()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.linger != nil {
			p.linger.Stop()
		}
	}()
}

// ask sends an event and waits for its answer.
func (p *process) ask(q question, r *procv3.ProcessingRequest) (*answer, error) {
	p.put(q, r)
	return p.await(q)
}

// put sends an event that has an answer.
func (p *process) put(q question, r *procv3.ProcessingRequest) {
	p.mu.Lock()
	p.dialogue.ask(q)
	p.mu.Unlock()
	_ = p.send(r) // await reports an error
}
