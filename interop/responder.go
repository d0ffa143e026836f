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

// maxPayload bounds how many bytes a client can make the server allocate for one message.
const maxPayload = 64 << 20

// outputStream is the sending side of the streams of all methods that send responses.
type outputStream interface {
	grpc.ServerStream
	Send(*testpb.StreamingOutputCallResponse) error
}

// responder sends the responses that the requests of one stream ask for.
type responder struct {
	stream outputStream
	// plain has the responses that must be uncompressed on a stream with a compressor.
	// The stream compresses all messages except prepared ones, which stay as they were
	// encoded. So these responses are encoded before the compressor is set.
	plain map[*testpb.ResponseParameters]*grpc.PreparedMsg
}

// newResponder returns a responder for stream. It sets the stream's compressor if reqs ask
// for a compressed response, because that is possible only before the first response.
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

// serve answers one request. If the request asks for a status, serve returns that as an error.
// Otherwise it sends the responses in order.
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

// pause waits for d. If ctx ends first, it returns an error at once.
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

// echoStatus returns the error that ends an RPC with the status that its client asked for.
func echoStatus(want *testpb.EchoStatus) error {
	return status.Error(codes.Code(want.GetCode()), want.GetMessage())
}

// newPayload returns a payload of size zero bytes.
func newPayload(kind testpb.PayloadType, size int32) (*testpb.Payload, error) {
	switch {
	case kind != testpb.PayloadType_COMPRESSABLE:
		return nil, status.Errorf(codes.InvalidArgument, "payload type %v is not supported", kind)
	case size < 0 || size > maxPayload:
		return nil, status.Errorf(codes.InvalidArgument, "payload size %d is outside 0..%d", size, maxPayload)
	}
	return &testpb.Payload{Type: kind, Body: make([]byte, size)}, nil
}
