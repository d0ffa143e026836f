// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"testing"
	"time"
)

type besideKey struct{}

// TestDerivedContexts has contexts that derive from a call's, before its end and after, end
// of what it ends of.
func TestDerivedContexts(t *testing.T) {
	type result struct{ call, before, after, cause error }
	results := make(chan result, 1)
	s := startServer(t, "tcp", ServerConfig{}, func(st *ServerStream) {
		ctx := context.WithValue(st.Context(), besideKey{}, 1)
		before, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if st.Method() == "/test.Echo/Cancel" {
			st.asContext().cancel(cancelled)
		}
		<-before.Done()
		after, cancel := context.WithCancel(ctx)
		defer cancel()
		<-after.Done()
		<-ctx.Done()
		results <- result{ctx.Err(), before.Err(), after.Err(), context.Cause(before)}
		_ = st.Finish(nil)
	})
	c, _ := s.dial(nil)
	for method, want := range map[string]error{
		"/test.Echo/Cancel": context.Canceled, "/test.Echo/Deadline": context.DeadlineExceeded,
	} {
		call := &Call{Method: method, MaxRecvMsgSize: 1 << 20}
		if want == context.DeadlineExceeded {
			call.timeout = "50m"
		}
		p := payload([]byte{})
		st, err := c.NewStream(context.Background(), call, &p, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := <-results; got != (result{want, want, want, want}) {
			t.Errorf("%s: %v, want %v of all", method, got, want)
		}
		for err == nil {
			_, err = st.Recv()
		}
	}
}

// TestContextPrints: fmt shows what a call's context is, and none of its fields, which others write meanwhile.
func TestContextPrints(t *testing.T) {
	for _, ctx := range []context.Context{new(ServerStream).asContext(), &new(HandlerStream).ctx} {
		if got, want := fmt.Sprint(ctx), "context of a gRPC call"; got != want {
			t.Errorf("%T prints as %.100s, want %s", ctx, got, want)
		}
	}
}
