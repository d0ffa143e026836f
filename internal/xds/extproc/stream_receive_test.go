// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"io"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// bare is an RPC whose response is only trailers. The sends on read follow each call of Trailer.
type bare struct {
	counted
	read chan struct{}
}

func (b *bare) Trailer() metadata.MD {
	defer func() { b.read <- struct{}{} }()
	return metadata.MD{"content-type": {"application/grpc"}}
}

// TestTrailersOfHeader: the end of an RPC waits for a Header that shows its trailers to the external processor, also if
// the processor's answer says that it wants no more headers.
func TestTrailersOfHeader(t *testing.T) {
	c := &Config{AllowOverride: true, Mode: Mode{Response: ResponseMode{Headers: true}}}
	sent := make(chan struct{})
	s := onStream(t, c, rpcconfig.RPC{ClientStreams: true, ServerStreams: true}, &ending{end: func() { close(sent) }})
	defer s.finish()
	inner := &bare{read: make(chan struct{})}
	s.begin(func(context.Context) (rpcconfig.Stream, error) { return inner, nil })
	begun := make(chan error)
	go func() {
		_, err := s.Header()
		begun <- err
	}()
	<-inner.read
	<-sent
	s.process.mu.Lock()
	s.mode = Mode{} // as an override in the answer does it
	s.process.mu.Unlock()
	ended := make(chan error)
	go func() { ended <- s.RecvMsg(&emptypb.Empty{}) }()
	<-inner.read
	set := &procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x", RawValue: []byte("y")}}}}
	if err := s.reply(responseHeaders, answer{headers: set}, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-begun; err != nil {
		t.Error(err)
	}
	if err := <-ended; err != io.EOF {
		t.Error(err)
	}
	if md := s.Trailer(); len(md["x"]) != 1 {
		t.Errorf("trailers %v lack the external processor's", md)
	}
}

// queued is an RPC with messages that can still be received once it is cancelled.
type queued struct {
	counted
	left int
}

func (q *queued) RecvMsg(m any) error {
	if q.left--; q.left < 0 {
		return context.Canceled
	}
	m.(*wrapperspb.StringValue).Value = "secret"
	return nil
}

// TestRefusedMessages: once the external processor has refused an RPC the application gets none of the messages that
// have come before.
func TestRefusedMessages(t *testing.T) {
	s := onStream(t, &Config{}, rpcconfig.RPC{ServerStreams: true}, &ending{end: func() {}})
	defer s.finish()
	s.begin(func(context.Context) (rpcconfig.Stream, error) { return &queued{left: 3}, nil })
	m := new(wrapperspb.StringValue)
	if err := s.RecvMsg(m); err != nil || m.Value != "secret" {
		t.Fatal(m, err)
	}
	s.process.end(status.Error(codes.PermissionDenied, "no"))
	if err := s.RecvMsg(m); status.Code(err) != codes.PermissionDenied || m.Value != "" {
		t.Errorf("%v, %q", err, m.Value)
	}
}
