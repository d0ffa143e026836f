// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"errors"
	"fmt"
	"io"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// receive handles the server's responses until the stream ends.
func (p *process) receive(st procv3.ExternalProcessor_ProcessClient) {
	for {
		r, err := st.Recv()
		switch {
		case err == io.EOF: // the server does not want to see more of the RPC
			p.end(nil)
			return
		case err != nil:
			p.fail(err)
			return
		case p.config.Observe: // no answers are expected
			continue
		}
		select {
		case <-p.over: // the process is over, but the stream is not
			continue
		default:
		}
		if err := p.take(r); err != nil {
			p.fail(err)
			return
		}
	}
}

// take handles a response. An error means that the server has made a mistake.
func (p *process) take(r *procv3.ProcessingResponse) error {
	var err error
	switch in := r.GetResponse().(type) {
	case *procv3.ProcessingResponse_RequestHeaders:
		err = p.takeHeaders(requestHeaders, in.RequestHeaders.GetResponse(), r.GetModeOverride())
	case *procv3.ProcessingResponse_ResponseHeaders:
		err = p.takeHeaders(responseHeaders, in.ResponseHeaders.GetResponse(), r.GetModeOverride())
	case *procv3.ProcessingResponse_RequestBody:
		err = p.takeRequest(in.RequestBody.GetResponse())
	case *procv3.ProcessingResponse_ResponseBody:
		err = p.takeResponse(in.ResponseBody.GetResponse())
	case *procv3.ProcessingResponse_ResponseTrailers:
		err = p.reply(responseTrailers, answer{headers: in.ResponseTrailers.GetHeaderMutation()}, nil)
	case *procv3.ProcessingResponse_ImmediateResponse:
		err = p.takeImmediate(in.ImmediateResponse)
	case nil: // only a request to drain
	default:
		err = fmt.Errorf("the external processor sent a %T, which is not supported", in)
	}
	if err == nil && r.GetRequestDrain() && p.drainsFirst() {
		go p.drain()
	}
	return err
}

// drainsFirst reports whether it is called for the first time.
func (p *process) drainsFirst() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.asked
	p.asked = true
	return first
}

// drain makes the process send no more events. It may wait for a goroutine that is sending, but not
// forever.
func (p *process) drain() {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	if !p.line.drains && p.line.stream != nil {
		p.line.drains = true
		_ = p.line.stream.CloseSend()
	}
}

// reply passes an answer to the goroutine that waits for it. That goroutine sees the mode that comes with the answer; nil
// changes nothing.
func (p *process) reply(q question, a answer, mode *filterv3.ProcessingMode) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.dialogue.reply(q, a); err != nil {
		return err
	}
	p.overrideLocked(q, mode)
	return nil
}

func (p *process) takeHeaders(q question, in *procv3.CommonResponse, mode *filterv3.ProcessingMode) error {
	if in.GetStatus() != procv3.CommonResponse_CONTINUE {
		return fmt.Errorf("the external processor answered %s with status %v, want CONTINUE", names[q], in.GetStatus())
	}
	return p.reply(q, answer{headers: in.GetHeaderMutation()}, mode)
}

// overrideLocked changes the mode of the RPC. Request messages may be in progress when the response
// headers are answered, so their mode does not change then.
func (p *process) overrideLocked(q question, in *filterv3.ProcessingMode) {
	mode, ok := p.config.change(p.mode, in)
	if !ok {
		return
	}
	if q == responseHeaders {
		mode.Request.Messages = p.mode.Request.Messages
	}
	p.mode = mode
}

// bodyOf returns the message in an answer.
func bodyOf(in *procv3.CommonResponse) (*procv3.StreamedBodyResponse, error) {
	if in.GetStatus() != procv3.CommonResponse_CONTINUE {
		return nil, fmt.Errorf("the external processor answered a message with status %v, want CONTINUE", in.GetStatus())
	}
	m, ok := in.GetBodyMutation().GetMutation().(*procv3.BodyMutation_StreamedResponse)
	if !ok {
		return nil, fmt.Errorf("the external processor answered a message with a %T, want a streamed_response", in.GetBodyMutation().GetMutation())
	}
	if m.StreamedResponse.GetGrpcMessageCompressed() {
		return nil, errors.New("the external processor sent a compressed message, which is not supported")
	}
	return m.StreamedResponse, nil
}

func (p *process) takeRequest(in *procv3.CommonResponse) error {
	p.mu.Lock()
	sends := p.mode.Request.Messages
	early := p.dialogue.waits(requestHeaders)
	p.mu.Unlock()
	switch {
	case !sends:
		return errors.New("the external processor sent a request message, though it gets none")
	case early:
		return errors.New("the external processor sent a request message before request headers")
	}
	body, err := bodyOf(in)
	if err != nil {
		return err
	}
	last := body.GetEndOfStream() || body.GetEndOfStreamWithoutMessage()
	return p.requests.accept(item{body: body.GetBody(), nothing: body.GetEndOfStreamWithoutMessage(), last: last})
}

func (p *process) takeResponse(in *procv3.CommonResponse) error {
	p.mu.Lock()
	sends := p.mode.Response.Messages
	early := p.dialogue.waits(responseHeaders)
	late := p.dialogue.answered[responseTrailers]
	p.mu.Unlock()
	switch {
	case !sends:
		return errors.New("the external processor sent a response message, though it gets none")
	case early:
		return errors.New("the external processor sent a response message before response headers")
	case late:
		return errors.New("the external processor sent a response message after response trailers")
	}
	body, err := bodyOf(in)
	if err != nil {
		return err
	}
	if body.GetEndOfStream() || body.GetEndOfStreamWithoutMessage() {
		return errors.New("the external processor set the end of the stream in a response message")
	}
	p.mu.Lock()
	if p.isOver { // flush may pass on the original
		p.mu.Unlock()
		return nil
	}
	p.returned++
	p.mu.Unlock()
	if err := p.responses.accept(item{body: body.GetBody()}); err != nil {
		p.mu.Lock()
		p.returned--
		p.mu.Unlock()
		return err
	}
	return nil
}

// takeImmediate ends the RPC at once. If the RPC has ended and waits for an answer about its
// trailers, it changes the status instead.
func (p *process) takeImmediate(in *procv3.ImmediateResponse) error {
	if p.config.NoImmediateResponse {
		return errors.New("the external processor sent an immediate response, which is disabled")
	}
	p.mu.Lock()
	ending := p.dialogue.waits(responseTrailers)
	p.mu.Unlock()
	if ending {
		return p.reply(responseTrailers, answer{immediate: in, headers: in.GetHeaders()}, nil)
	}
	if st := statusOf(in); st.Code() != codes.OK {
		p.mu.Lock()
		p.immediate = in
		p.mu.Unlock()
		p.end(st.Err())
		return nil
	}
	p.end(status.Error(codes.Internal, "extproc: an immediate response with status OK before the RPC has one"))
	return nil
}

func statusOf(in *procv3.ImmediateResponse) *status.Status {
	return status.New(codes.Code(in.GetGrpcStatus().GetStatus()), in.GetDetails())
}
