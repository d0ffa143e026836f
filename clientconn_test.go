// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/credentials/insecure"
)

// newTestClient makes a channel that is closed with the test.
func newTestClient(t testing.TB, target string, opts ...DialOption) *ClientConn {
	t.Helper()
	opts = append([]DialOption{WithTransportCredentials(insecure.NewCredentials())}, opts...)
	cc, err := NewClient(target, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

const (
	unaryMethod = "/test.Echo/Unary"
	bidiMethod  = "/test.Echo/Bidi"
)

var bidiStream = &StreamDesc{StreamName: "Bidi", ServerStreams: true, ClientStreams: true}

// call makes a unary RPC and checks the echo.
func call(ctx context.Context, cc ClientConnInterface, value string, opts ...CallOption) error {
	out := new(text)
	if err := cc.Invoke(ctx, unaryMethod, &text{Value: value}, out, opts...); err != nil {
		return err
	}
	if out.Value != value {
		return fmt.Errorf("the reply is %q, want %q", out.Value, value)
	}
	return nil
}

func TestTargets(t *testing.T) {
	s := serve(t, newEcho())
	for _, target := range []string{s.addr, "dns:///" + s.addr, "passthrough:///" + s.addr, "dns:" + s.addr} {
		if err := call(testContext(t), newTestClient(t, target), "hello"); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func TestBidiStream(t *testing.T) {
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		want := fmt.Sprint(i)
		if err := st.SendMsg(&text{Value: want}); err != nil {
			t.Fatal(err)
		}
		got := new(text)
		if err := st.RecvMsg(got); err != nil || got.Value != want {
			t.Fatalf("%q, %v; want %q", got.Value, err, want)
		}
	}
	if err := st.CloseSend(); err != nil {
		t.Error(err)
	}
	if err := st.RecvMsg(new(text)); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want io.EOF", err)
	}
}
