// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestCancelAtOnce: after cancel has returned no operation of the RPC succeeds, whatever
// has arrived before.
func TestCancelAtOnce(t *testing.T) {
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		for range 3 {
			if err := ss.SendMsg(&text{Value: "m"}); err != nil {
				return err
			}
		}
		m := new(text)
		if err := ss.RecvMsg(m); err != nil || m.Value == "end" {
			return err
		}
		<-ss.Context().Done()
		return nil
	}
	cc := newTestClient(t, serve(t, e).addr)
	recv := func(s ClientStream) error { return s.RecvMsg(new(text)) }
	send := func(s ClientStream) error { return s.SendMsg(&text{}) }
	closeSend := func(s ClientStream) error { // says nothing of the RPC's end
		if err := s.CloseSend(); err != nil {
			t.Errorf("CloseSend: %v", err)
		}
		return recv(s)
	}
	for name, op := range map[string]struct {
		run func(ClientStream) error
		eof bool // is as good as the status
	}{
		"RecvMsg":               {recv, false},
		"SendMsg":               {send, true},
		"RecvMsg and SendMsg":   {func(s ClientStream) error { _ = recv(s); return send(s) }, true},
		"SendMsg and RecvMsg":   {func(s ClientStream) error { _ = send(s); return recv(s) }, false},
		"CloseSend and RecvMsg": {closeSend, false},
		"CloseSend twice":       {func(s ClientStream) error { _ = closeSend(s); return closeSend(s) }, false},
	} {
		for _, first := range []string{"stay", "end"} {
			t.Run(name+", "+first, func(t *testing.T) {
				for range 20 {
					ctx, cancel := context.WithCancel(testContext(t))
					s, err := cc.NewStream(ctx, bidiStream, bidiMethod)
					if err != nil {
						t.Fatal(err)
					}
					if err := s.SendMsg(&text{Value: first}); err != nil {
						t.Fatal(err)
					}
					if err := recv(s); err != nil { // the others are there, or about to be
						t.Fatal(err)
					}
					cancel()
					if err := op.run(s); status.Code(err) != codes.Canceled && !(op.eof && err == io.EOF) {
						t.Fatalf("after cancel: %v", err)
					}
				}
			})
		}
	}
}

// TestCancelAfterEnd: an RPC that has ended is not ended again.
func TestCancelAfterEnd(t *testing.T) {
	cc := newTestClient(t, serve(t, newEcho()).addr)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	s, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.RecvMsg(new(text)); err != io.EOF {
			t.Fatalf("RecvMsg: %v", err)
		}
		cancel()
	}
	if err := s.CloseSend(); err != nil {
		t.Errorf("CloseSend: %v", err)
	}
}
