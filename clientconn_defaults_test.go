// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"testing"
)

// TestDefaultCallOptionsHaveNoRoom: an interceptor may begin two RPCs, each with an option that it appends to those
// that it was given: the RPCs do not share the option.
func TestDefaultCallOptionsHaveNoRoom(t *testing.T) {
	var finished [2]int
	var second ClientStream
	twice := func(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, next Streamer, opts ...CallOption) (ClientStream, error) {
		if n := cap(opts) - len(opts); n != 0 {
			t.Errorf("the options have room for %d others", n)
		}
		first, err := next(ctx, desc, cc, method, append(opts, OnFinish(func(error) { finished[0]++ }))...)
		if err != nil {
			return nil, err
		}
		second, err = next(ctx, desc, cc, method, append(opts, OnFinish(func(error) { finished[1]++ }))...)
		return first, err
	}
	cc := newTestClient(t, serve(t, newEcho()).addr, WithStreamInterceptor(twice),
		WithDefaultCallOptions(WaitForReady(true), MaxCallRecvMsgSize(1000), MaxCallSendMsgSize(1000)))
	first, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, WaitForReady(false))
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range []ClientStream{first, second} {
		_ = st.CloseSend()
		_ = st.RecvMsg(new(text))
	}
	if finished != [2]int{1, 1} {
		t.Errorf("OnFinish was called %v times", finished)
	}
}
