// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/experimental/streams"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

var errOfTest = errors.New("of the test")

// hasStatus fails the test unless err has a status with a code.
func hasStatus(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if st, ok := status.FromError(err); err == nil || !ok || st.Code() != want {
		t.Errorf("%s: %v (%T), want a status with %v", what, err, err, want)
	}
}

// What Recover returns ends the RPC, on both sides, also if it has no status, or is io.EOF.
func TestRecoverWithoutStatus(t *testing.T) {
	both := errors.Join(status.Error(codes.DataLoss, "lost"), io.EOF)
	for _, of := range []error{errOfTest, io.EOF, fmt.Errorf("of the test: %w", io.EOF), both} {
		want := codes.Unknown
		if of == both {
			want = status.Code(both)
		}
		opts := &streams.Options{Recover: func(any) error { return of }}
		done, over := make(chan error, 1), make(chan error, 1)
		r := newRig(t, &service{duplex: handOver(echoing(done), nil)})
		c := r.talk(t, &talkerCalls{
			OnMessage: func(*talker, *response) { panic("of the test") },
			OnDone:    func(_ *talker, err error) { over <- err },
		}, opts)
		if err := c.Send(ask("x")); err != nil {
			t.Fatal(err)
		}
		hasStatus(t, fmt.Sprintf("%v: the client's OnDone", of), await(t, over, "the client's OnDone"), want)
		hasStatus(t, fmt.Sprintf("%v: the server's OnDone", of), await(t, done, "the server's OnDone"), codes.Canceled)

		theirs, ours := panickingServer(t, opts)
		hasStatus(t, fmt.Sprintf("%v: the client", of), theirs, want)
		hasStatus(t, fmt.Sprintf("%v: OnDone of a server", of), ours, want)
	}
}

// TestHeaderListTooLarge: OnDone is told why the headers or the trailers of an RPC could not be sent.
func TestHeaderListTooLarge(t *testing.T) {
	large := metadata.Pairs("k", strings.Repeat("x", 2000))
	for name, answer := range map[string]func(*bidi){
		"trailers":                   func(s *bidi) { s.SetTrailer(large); _ = s.Finish(nil) },
		"trailers after a message":   func(s *bidi) { _ = s.Send(reply("x")); s.SetTrailer(large); _ = s.Finish(nil) },
		"trailers of an error":       func(s *bidi) { s.SetTrailer(large); _ = s.Finish(errOfTest) },
		"headers":                    func(s *bidi) { _ = s.SendHeader(large) },
		"headers of the first reply": func(s *bidi) { _ = s.SetHeader(large); _ = s.Send(reply("x")) },
	} {
		done := make(chan error, 1)
		calls := &bidiCalls{
			OnMessage: func(s *bidi, _ *request) { answer(s) },
			OnDone:    func(_ *bidi, err error) { done <- err },
		}
		r := newRig(t, &service{duplex: handOver(calls, nil)})
		cc, err := grpc.NewClient(r.cc.Target(), grpc.WithTransportCredentials(plain()), grpc.WithMaxHeaderListSize(1000))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cc.Close() })
		st, err := clientOf(cc).FullDuplexCall(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Send(ask("x")); err != nil {
			t.Fatal(err)
		}
		hasStatus(t, name, await(t, done, "OnDone"), codes.Internal)
	}
}

// faulty is an interceptor's stream, of which one method fails.
type faulty struct {
	grpc.ClientStream
	method string
	err    error
}

func (f faulty) result(method string, call func() error) error {
	if f.method == method {
		return f.err
	}
	return call()
}

func (f faulty) SendMsg(m any) error {
	return f.result("Send", func() error { return f.ClientStream.SendMsg(m) })
}

func (f faulty) RecvMsg(m any) error {
	return f.result("Recv", func() error { return f.ClientStream.RecvMsg(m) })
}

func (f faulty) CloseSend() error { return f.result("CloseSend", f.ClientStream.CloseSend) }

// An error of an interceptor's stream ends the RPC. One that has no status gets one, and one that wraps io.EOF is
// an error as any other.
func TestFaultyClientStream(t *testing.T) {
	testFaultyClientStream(t, errOfTest)
	testFaultyClientStream(t, errors.Join(status.Error(codes.Unknown, "of the test"), io.EOF))
}

func testFaultyClientStream(t *testing.T, fault error) {
	for method, do := range map[string]func(c *talker) error{
		"Send":      func(c *talker) error { return c.Send(ask("x")) },
		"Recv":      func(c *talker) error { _ = c.Send(ask("x")); return status.Error(codes.Unknown, "") },
		"CloseSend": (*talker).CloseSend,
	} {
		t.Run(method, func(t *testing.T) {
			done, over := make(chan error, 1), make(chan error, 1)
			started, next := make(chan struct{}), handOver(echoing(done), nil)
			r := newRig(t, &service{duplex: func(st duplex) error { close(started); return next(st) }})
			c, err := streams.Open(&talkerCalls{
				OnDone: func(_ *talker, err error) { over <- err },
			}, nil, func(o grpc.CallOption) (grpc.ClientStream, error) {
				st, err := r.client.FullDuplexCall(r.ctx, o)
				return faulty{st, method, fault}, err
			})
			if err != nil {
				t.Fatal(err)
			}
			await(t, started, "the handler") // a server does not start one for an RPC that is over
			hasStatus(t, method, do(c), codes.Unknown)
			hasStatus(t, "the client's OnDone", await(t, over, "the client's OnDone"), codes.Unknown)
			hasStatus(t, "the server's OnDone", await(t, done, "the server's OnDone"), codes.Canceled)
		})
	}
}

// faultyServer is an interceptor's stream that sends nothing.
type faultyServer struct{ grpc.ServerStream }

func (faultyServer) SendMsg(any) error { return errOfTest }

func TestFaultyServerStream(t *testing.T) {
	sent, done := make(chan error, 1), make(chan error, 1)
	around := func(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return next(srv, faultyServer{st})
	}
	r := newRig(t, &service{duplex: handOver(&bidiCalls{
		OnMessage: func(s *bidi, _ *request) { sent <- s.Send(reply("x")) },
		OnDone:    func(_ *bidi, err error) { done <- err },
	}, nil)}, grpc.StreamInterceptor(around))
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	st, err := r.client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Send(ask("x")); err != nil {
		t.Fatal(err)
	}
	_, err = st.Recv()
	hasStatus(t, "the client", err, codes.Unknown)
	hasStatus(t, "Send", await(t, sent, "Send"), codes.Unknown)
	hasStatus(t, "OnDone", await(t, done, "OnDone"), codes.Unknown)
}

// TestRecoverEndsGoroutine: the RPC ends also if Recover itself does not return.
func TestRecoverEndsGoroutine(t *testing.T) {
	opts := &streams.Options{Recover: func(any) error { runtime.Goexit(); return nil }}
	theirs, ours := panickingServer(t, opts)
	hasStatus(t, "the client", theirs, codes.Internal)
	hasStatus(t, "OnDone", ours, codes.Internal)
}

// panicking is a codec that panics when it decodes.
type panicking struct{ encoding.CodecV2 }

func (panicking) Name() string                         { return "proto" }
func (panicking) Unmarshal(mem.BufferSlice, any) error { panic("of the test") }

// TestOpenPanics: an RPC ends whose reply has come, and makes the codec panic, when Open looks.
func TestOpenPanics(t *testing.T) {
	over, ended := make(chan error, 1), make(chan struct{})
	r := newRig(t, &service{up: replyAndStay(ended)})
	defer func() {
		_ = recover() // or the client's goroutine has ended the RPC
		await(t, ended, "the end of the handler")
		if err := await(t, over, "OnDone"); err == nil {
			t.Error("it ends well")
		}
	}()
	_, err := streams.OpenClientStreaming(&streams.ClientCallbacks[upload, summary]{
		OnDone: func(_ *sender, err error) { over <- err },
	}, &streams.Options{Recover: func(any) error { return errOfTest }}, func(o grpc.CallOption) (grpc.ClientStreamingClient[upload, summary], error) {
		st, err := r.client.StreamingInputCall(r.ctx, o, grpc.ForceCodecV2(panicking{encoding.GetCodecV2("proto")}))
		if err == nil {
			_, err = st.Header() // the message comes with it
		}
		return st, err
	})
	if err != nil {
		t.Error(err)
	}
}
