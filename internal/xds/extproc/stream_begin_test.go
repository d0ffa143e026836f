// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// leaving is an RPC whose code of the program ends the goroutine that sends or receives.
type leaving struct{ counted }

func (leaving) SendMsg(any) error {
	runtime.Goexit()
	return nil
}

func (leaving) RecvMsg(any) error {
	runtime.Goexit()
	return nil
}

// TestLeftAtTheBeginning: credentials, a picker or a stats handler may end the goroutine that begins the RPC. The
// program's methods do not wait for that goroutine, and RecvMsg says how the RPC ended.
func TestLeftAtTheBeginning(t *testing.T) {
	c := &Config{Mode: Mode{Request: RequestMode{Headers: true, Messages: true}}}
	s := onStream(t, c, rpcconfig.RPC{ClientStreams: true, ServerStreams: true}, &ending{after: 9})
	s.process.end(nil) // the external processor wants nothing more
	go s.begin(func(context.Context) (rpcconfig.Stream, error) {
		runtime.Goexit()
		return nil, nil
	})
	if err := s.SendMsg(wrapperspb.String("a")); err != io.EOF {
		t.Error(err)
	}
	if _, err := s.Header(); err != nil || s.CloseSend() != nil || s.Trailer() != nil || s.Context() != s.ctx {
		t.Error(err)
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); err != errLeft {
		t.Error(err)
	}
}

// TestLeftLater: the program's codec may end the goroutines that send and receive for the RPC. The RPC fails.
func TestLeftLater(t *testing.T) {
	for name, c := range map[string]*Config{
		"sends":    {Mode: Mode{Request: RequestMode{Messages: true}}},
		"receives": {Mode: Mode{Response: ResponseMode{Messages: true}}},
	} {
		for _, streams := range []bool{false, true} {
			s := onStream(t, c, rpcconfig.RPC{ClientStreams: streams, ServerStreams: streams}, &ending{after: 9, end: func() {}})
			s.begin(func(context.Context) (rpcconfig.Stream, error) { return &leaving{}, nil })
			if name == "sends" {
				_ = s.requests.accept(item{last: true, body: []byte{}})
				<-s.sends.pumped
			} else if err := s.RecvMsg(new(wrapperspb.StringValue)); err != errLeft {
				t.Errorf("%s, streams %t: %v", name, streams, err)
			}
			if err := s.failure(); err != errLeft || s.ctx.Err() == nil || context.Cause(s.ctx) != errLeft {
				t.Errorf("%s, streams %t: %v, %v", name, streams, err, context.Cause(s.ctx))
			}
			s.finish()
		}
	}
}

// TestHeld: an RPC that is received by callback asks the stream below when there is something to receive. It fails where that is too early.
func TestHeld(t *testing.T) {
	for _, tt := range []struct {
		c      Config
		refuse bool
	}{
		{Config{Mode: Mode{Request: RequestMode{Messages: true}, Response: ResponseMode{Headers: true}}}, false},
		{Config{Mode: Mode{Request: RequestMode{Headers: true, Messages: true}}}, true},
		{Config{Mode: Mode{Response: ResponseMode{Messages: true}}}, true},
		{Config{AllowOverride: true}, true},
		{Config{Observe: true, Mode: Mode{Response: ResponseMode{Messages: true}}}, false},
	} {
		if got := tt.c.needsReceiver(); got != tt.refuse {
			t.Errorf("%+v: %t", tt.c, got)
		}
	}
	f := &filter{config: &Config{AllowOverride: true}}
	_, err := f.Begin(t.Context(), rpcconfig.RPC{Held: true}, nil)
	if status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
}

// ended is an RPC whose server has ended it: what it sent has come.
type ended struct{ counted }

func (*ended) SendMsg(any) error { return io.EOF }

func (*ended) Header() (metadata.MD, error) { return metadata.MD{"raw": {"1"}}, nil }

func (*ended) RecvMsg(m any) error {
	m.(*wrapperspb.StringValue).Value = "raw"
	return nil
}

// TestCancelledUnanswered: what the external processor has not answered when the RPC's context ends does not reach the
// application.
func TestCancelledUnanswered(t *testing.T) {
	for name, mode := range map[string]ResponseMode{"headers": {Headers: true}, "trailers": {Trailers: true}, "messages": {Messages: true, Trailers: true}} {
		s := onStream(t, &Config{Mode: Mode{Response: mode}}, rpcconfig.RPC{}, &ending{after: 9})
		s.begin(func(context.Context) (rpcconfig.Stream, error) { return &ended{}, nil })
		s.process.cancel()
		<-s.over
		m := new(wrapperspb.StringValue)
		if err := s.conclude(io.EOF); status.Code(err) != codes.Canceled {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.RecvMsg(m); status.Code(err) != codes.Canceled || m.Value != "" {
			t.Errorf("%s: %v, %v", name, m, err)
		}
		if md, err := s.Header(); mode.Headers && (err == nil || len(md) > 0) {
			t.Errorf("%s: %v, %v", name, md, err)
		}
	}
}

// TestCancelledAnswered: what needs no answer reaches the application also if the RPC's context has ended.
func TestCancelledAnswered(t *testing.T) {
	s := onStream(t, &Config{Mode: Mode{Response: ResponseMode{Headers: true}}}, rpcconfig.RPC{}, &ending{after: 9})
	s.begin(func(context.Context) (rpcconfig.Stream, error) { return &ended{}, nil })
	s.process.mu.Lock()
	s.dialogue.ask(responseHeaders)
	err := s.dialogue.reply(responseHeaders, answer{})
	s.process.mu.Unlock()
	s.process.cancel()
	<-s.over
	if err != nil || s.failure() != nil {
		t.Error(err, s.failure())
	}
}

// TestErrorBesideTheEnd: an error that comes once the RPC's context has ended does not let through what was not answered.
func TestErrorBesideTheEnd(t *testing.T) {
	s := onStream(t, &Config{Mode: Mode{Response: ResponseMode{Headers: true}}}, rpcconfig.RPC{}, &ending{after: 9})
	s.process.watch() // cancelled comes late
	s.process.cancel()
	s.process.end(status.Error(codes.Internal, "disallowed"))
	if err := s.failure(); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	s.cancelled()
}

// TestTimeoutOfRoute: the process waits no longer than the route lets the RPC last.
func TestTimeoutOfRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeout := time.Second
		c := &Config{Mode: Mode{Request: RequestMode{Headers: true}, Response: ResponseMode{Headers: true}}}
		s := onStream(t, c, rpcconfig.RPC{Timeout: &timeout}, &ending{after: 9})
		s.showRequestHeaders()
		s.begin(func(ctx context.Context) (rpcconfig.Stream, error) { return nil, ctx.Err() })
		if status.Code(s.beginErr) != codes.DeadlineExceeded {
			t.Error(s.beginErr)
		}
	})
}

// TestSendMsgAfterEnd: SendMsg says that the RPC is over once the RPC's own server takes no more messages.
func TestSendMsgAfterEnd(t *testing.T) {
	s := onStream(t, &Config{Mode: Mode{Request: RequestMode{Messages: true}}}, rpcconfig.RPC{ClientStreams: true}, &ending{after: 9})
	s.begin(func(context.Context) (rpcconfig.Stream, error) { return &ended{}, nil })
	if err := s.SendMsg(wrapperspb.String("a")); err != nil {
		t.Error(err)
	}
	_ = s.requests.accept(item{body: []byte{}})
	s.requests.close()
	<-s.sends.pumped
	if err := s.SendMsg(wrapperspb.String("a")); err != io.EOF {
		t.Error(err)
	}
	s.finish()
}
