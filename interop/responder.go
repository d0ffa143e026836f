// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// maxPayload bounds what a client can make the server allocate for one message.
const maxPayload = 64 << 20

// outputStream is the sending side that the output methods have in common.
type outputStream interface {
	grpc.ServerStream
	Send(*testpb.StreamingOutputCallResponse) error
}

// responder sends the responses that requests order on one stream.
type responder struct {
	stream outputStream
	// plain holds the responses that must travel uncompressed on a stream with a
	// compressor. The compressor is the stream's, and only a prepared message keeps the
	// form it was encoded in; so these are encoded before the compressor is chosen.
	plain map[*testpb.ResponseParameters]*grpc.PreparedMsg
}

// newResponder readies stream for the responses of reqs, of which it looks at the wishes
// about compression: the encoding can be set only before the first response.
func newResponder(stream outputStream, reqs ...*testpb.StreamingOutputCallRequest) (*responder, error) {
	r := &responder{stream: stream, plain: make(map[*testpb.ResponseParameters]*grpc.PreparedMsg)}
	compress := false
	for _, req := range reqs {
		for _, p := range req.GetResponseParameters() {
			if p.GetCompressed().GetValue() {
				compress = true
			}
		}
	}
	if !compress {
		return r, nil
	}
	for _, req := range reqs {
		if err := r.preparePlain(req); err != nil {
			return nil, err
		}
	}
	if err := grpc.SetSendCompressor(stream.Context(), "gzip"); err != nil {
		return nil, status.Errorf(codes.Internal, "choosing the responses' compressor: %v", err)
	}
	return r, nil
}

func (r *responder) preparePlain(req *testpb.StreamingOutputCallRequest) error {
	for _, p := range req.GetResponseParameters() {
		if p.GetCompressed().GetValue() {
			continue
		}
		payload, err := newPayload(req.GetResponseType(), p.GetSize())
		if err != nil {
			return err
		}
		msg := &grpc.PreparedMsg{}
		if err := msg.Encode(r.stream, &testpb.StreamingOutputCallResponse{Payload: payload}); err != nil {
			return err
		}
		r.plain[p] = msg
	}
	return nil
}

// serve answers one request: its status if it asks for one, else its responses in order.
func (r *responder) serve(req *testpb.StreamingOutputCallRequest) error {
	if err := echoStatus(req.GetResponseStatus()); err != nil {
		return err
	}
	for _, p := range req.GetResponseParameters() {
		if err := pause(r.stream.Context(), time.Duration(p.GetIntervalUs())*time.Microsecond); err != nil {
			return err
		}
		if msg := r.plain[p]; msg != nil {
			if err := r.stream.SendMsg(msg); err != nil {
				return err
			}
			continue
		}
		payload, err := newPayload(req.GetResponseType(), p.GetSize())
		if err != nil {
			return err
		}
		if err := r.stream.Send(&testpb.StreamingOutputCallResponse{Payload: payload}); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for d, or for less if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// echoStatus turns the status a client asked for into the error that ends its RPC.
func echoStatus(want *testpb.EchoStatus) error {
	return status.Error(codes.Code(want.GetCode()), want.GetMessage())
}

// newPayload returns size zero bytes.
func newPayload(kind testpb.PayloadType, size int32) (*testpb.Payload, error) {
	switch {
	case kind != testpb.PayloadType_COMPRESSABLE:
		return nil, status.Errorf(codes.InvalidArgument, "payload type %v is not supported", kind)
	case size < 0 || size > maxPayload:
		return nil, status.Errorf(codes.InvalidArgument, "payload size %d is outside 0..%d", size, maxPayload)
	}
	return &testpb.Payload{Type: kind, Body: make([]byte, size)}, nil
}
