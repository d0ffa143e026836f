// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/grpcservice"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// processor is a stream to an external processor that takes an event, returns it, and then takes
// the next one.
type processor struct {
	procv3.ExternalProcessor_ProcessClient
	ctx     context.Context
	events  chan *procv3.ProcessingRequest
	answers chan *procv3.ProcessingResponse
}

func (p *processor) Send(r *procv3.ProcessingRequest) error {
	select {
	case p.events <- r:
		return nil
	case <-p.ctx.Done():
		return io.EOF
	}
}

func (p *processor) CloseSend() error {
	close(p.events)
	return nil
}

func (p *processor) Recv() (*procv3.ProcessingResponse, error) {
	select {
	case r, ok := <-p.answers:
		if !ok {
			return nil, io.EOF
		}
		return r, nil
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	}
}

func (p *processor) run() {
	defer close(p.answers)
	for r := range p.events {
		select {
		case p.answers <- echoed(r):
		case <-p.ctx.Done():
			return
		}
	}
}

// echoed answers an event so that nothing changes.
func echoed(r *procv3.ProcessingRequest) *procv3.ProcessingResponse {
	body := func(b *procv3.HttpBody) *procv3.BodyResponse {
		return &procv3.BodyResponse{Response: &procv3.CommonResponse{BodyMutation: &procv3.BodyMutation{Mutation: &procv3.BodyMutation_StreamedResponse{
			StreamedResponse: &procv3.StreamedBodyResponse{Body: b.GetBody(), EndOfStream: b.GetEndOfStream(), EndOfStreamWithoutMessage: b.GetEndOfStreamWithoutMessage()},
		}}}}
	}
	switch in := r.GetRequest().(type) {
	case *procv3.ProcessingRequest_RequestHeaders:
		return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestHeaders{RequestHeaders: &procv3.HeadersResponse{}}}
	case *procv3.ProcessingRequest_ResponseHeaders:
		return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &procv3.HeadersResponse{}}}
	case *procv3.ProcessingRequest_RequestBody:
		return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestBody{RequestBody: body(in.RequestBody)}}
	case *procv3.ProcessingRequest_ResponseBody:
		return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_ResponseBody{ResponseBody: body(in.ResponseBody)}}
	default:
		return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_ResponseTrailers{ResponseTrailers: &procv3.TrailersResponse{}}}
	}
}

// echo is an RPC whose server takes a message, sends it back, and then takes the next one.
type echo struct {
	ctx     context.Context
	in, out chan proto.Message
}

func (e *echo) run() {
	defer close(e.out)
	for m := range e.in {
		select {
		case e.out <- m:
		case <-e.ctx.Done():
			return
		}
	}
}

func (e *echo) Header() (metadata.MD, error) { return metadata.MD{"x": {"y"}}, nil }
func (e *echo) Trailer() metadata.MD         { return nil }
func (e *echo) Context() context.Context     { return e.ctx }

func (e *echo) CloseSend() error {
	close(e.in)
	return nil
}

func (e *echo) SendMsg(m any) error {
	select {
	case e.in <- m.(proto.Message):
		return nil
	case <-e.ctx.Done():
		return io.EOF
	}
}

func (e *echo) RecvMsg(m any) error {
	select {
	case got, ok := <-e.out:
		if !ok {
			return io.EOF
		}
		proto.Merge(m.(proto.Message), got)
		return nil
	case <-e.ctx.Done():
		return e.ctx.Err()
	}
}

// onStream makes an RPC whose external processor is at the other end of st.
func onStream(t *testing.T, c *Config, rpc rpcconfig.RPC, st procv3.ExternalProcessor_ProcessClient) *stream {
	c.Service = &grpcservice.Service{}
	rpc.Cause = func(err error) error { return err }
	s := newStream(newProcess(t.Context(), &filter{config: c}, rpc))
	s.line.stream = st
	return s
}

// TestDuplex: what an RPC's own server does not take yet stops neither the responses nor the
// external processor, which returns each event before it takes the next one.
func TestDuplex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		st := &processor{ctx: ctx, events: make(chan *procv3.ProcessingRequest), answers: make(chan *procv3.ProcessingResponse)}
		c := &Config{Mode: Mode{Request: RequestMode{Headers: true, Messages: true}, Response: ResponseMode{Headers: true, Messages: true, Trailers: true}}}
		s := onStream(t, c, rpcconfig.RPC{ClientStreams: true, ServerStreams: true}, st)
		s.process.mu.Lock()
		s.abort = cancel
		s.process.mu.Unlock()
		go st.run()
		go s.receive(st)
		inner := &echo{ctx: ctx, in: make(chan proto.Message), out: make(chan proto.Message)}
		go inner.run()
		s.showRequestHeaders()
		go s.begin(func(context.Context) (rpcconfig.Stream, error) { return inner, nil })

		const n, size = 100, maxQueued / 10
		go func() {
			for i := range n {
				if err := s.SendMsg(wrapperspb.Bytes(append(make([]byte, size), byte(i)))); err != nil && ctx.Err() == nil {
					t.Errorf("message %d: %v", i, err)
				}
			}
			_ = s.CloseSend()
		}()
		synctest.Wait() // the application, which does not receive yet, can send no more
		if !s.line.mu.TryLock() {
			t.Fatal("a message that the external processor can't take keeps it from all other events")
		}
		s.line.mu.Unlock()
		for i := range n {
			var m wrapperspb.BytesValue
			if err := s.RecvMsg(&m); err != nil || len(m.GetValue()) != size+1 || m.GetValue()[size] != byte(i) {
				t.Fatalf("message %d: %d bytes, %v", i, len(m.GetValue()), err)
			}
			synctest.Wait()
			for _, q := range []*queue{s.requests, s.responses} {
				if q.bytes > 2*maxQueued {
					t.Fatalf("after message %d a queue has %d bytes", i, q.bytes)
				}
			}
		}
		if err := s.RecvMsg(&wrapperspb.BytesValue{}); err != io.EOF {
			t.Error(err)
		}
	})
}
