// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"reflect"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/status"
)

// selectorTurn is a resolver's Selector for as long as the channel uses it.
type selectorTurn struct {
	selector rpcconfig.Selector // immutable

	mu   sync.RWMutex // held, shared, while the Selector is asked
	over bool
}

// newSelectorTurn returns nil for nil.
func newSelectorTurn(s rpcconfig.Selector) *selectorTurn {
	if s == nil {
		return nil
	}
	return &selectorTurn{selector: s}
}

// isFor says that t is s's turn.
func (t *selectorTurn) isFor(s rpcconfig.Selector) bool {
	if t == nil || s == nil {
		return t == nil && s == nil
	}
	return reflect.TypeOf(s).Comparable() && reflect.ValueOf(s).Comparable() && t.selector == s
}

// ask asks the Selector, unless its turn is over. An error is a status.
func (t *selectorTurn) ask(ctx context.Context, method string) (c rpcconfig.Choice, over bool, err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.over {
		return c, true, nil
	}
	if c, err = t.selector.Select(ctx, method); err != nil {
		return rpcconfig.Choice{}, false, selectorError(err)
	}
	return c, false, nil
}

// end waits until nobody asks the Selector any more. A nil turn has ended.
func (t *selectorTurn) end() {
	if t != nil {
		t.mu.Lock()
		t.over = true
		t.mu.Unlock()
	}
}

func selectorError(err error) error {
	if _, ok := status.FromError(err); ok {
		return controlPlaneError("config selector returned", err)
	}
	if err = asStatus(err); status.Code(err) == codes.OK {
		return status.Error(codes.Internal, "config selector returned an error without a code")
	}
	return err
}

// choose returns what the RPC goes by, once there is something to go by. An error is a
// status.
func (r *clientCall) choose() (c rpcconfig.Choice, err error) {
	for {
		config, waited, err := r.cc.awaitConfig(r.ctx)
		r.waited = r.waited || waited
		if err != nil {
			return c, err
		}
		if r.cc.picks.turn().closed {
			return c, ErrClientConnClosing
		}
		r.retry.Throttle = config.throttle
		if config.selector == nil {
			c.Method = config.method(r.call.Method)
			return c, nil
		}
		c, over, err := config.selector.ask(r.ctx, r.call.Method)
		if !over { // else another config has taken its place
			return c, err
		}
	}
}

// tellCommit tells the Selector, once, that nothing more is picked for the RPC.
func (r *clientCall) tellCommit() {
	if f := r.onCommit; f != nil {
		r.onCommit = nil
		f()
	}
}

// intercepted is an RPC with an interceptor of its own.
type intercepted struct {
	cs     *clientStream
	choice rpcconfig.Choice
	begun  bool // next was called
	open   bool // it succeeded
}

// intercept begins an RPC through the interceptor that it was given.
func (cs *clientStream) intercept(choice rpcconfig.Choice) (ClientStream, error) {
	in := &intercepted{cs: cs, choice: choice}
	rpc := rpcconfig.RPC{Method: cs.call.Method, ClientStreams: cs.desc.ClientStreams, ServerStreams: cs.desc.ServerStreams}
	st, err := choice.Interceptor.Begin(cs.ctx, rpc, in.next)
	switch {
	case !in.begun: // it answers by itself
		in.begun = true
		cs.clientCall.finish(nil, err)
	case in.open && err != nil:
		cs.abort(asStatus(err))
	}
	if err != nil {
		return nil, asStatus(err)
	}
	return st, nil
}

var errBegunTwice = status.Error(codes.Internal, "grpc: an interceptor of one RPC began it again")

// next begins the RPC itself.
func (in *intercepted) next(ctx context.Context) (rpcconfig.Stream, error) {
	if in.begun {
		return nil, errBegunTwice
	}
	in.begun = true
	in.cs.ctx = ctx
	st, err := in.cs.open(&in.choice.Method)
	in.open = err == nil
	return st, err
}

// intercept is the unary RPC, which was entered, for one with an interceptor of its own: to
// that it is a stream.
func (u *unaryCall) intercept(choice rpcconfig.Choice, req, reply any) error {
	cs := &clientStream{clientCall: u.clientCall}
	cs.desc = &StreamDesc{}
	st, err := cs.intercept(choice)
	if err != nil {
		return err
	}
	if err := st.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return st.RecvMsg(reply)
}
