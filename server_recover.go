// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// recoveryOption is an option of package experimental: a handler that panics fails its RPC. Panicked
// returns the error that the RPC ends with; nil stands for one of code Internal.
type recoveryOption interface {
	Panicked(ctx context.Context, method string, value any, stack []byte) error
}

// panicRecovery makes errors of panics.
type panicRecovery struct{ option recoveryOption }

func (o *serverOptions) addRecovery(opt ServerOption) {
	if r, ok := opt.(recoveryOption); ok {
		o.recoverPanics = &panicRecovery{r}
	}
}

// recoverFirst puts the interceptors that recover before all others.
func (o *serverOptions) recoverFirst() {
	if r := o.recoverPanics; r != nil {
		o.chainUnary = append([]UnaryServerInterceptor{r.unary}, o.chainUnary...)
		o.chainStream = append([]StreamServerInterceptor{r.stream}, o.chainStream...)
	}
}

func (r *panicRecovery) unary(ctx context.Context, req any, info *UnaryServerInfo, handler UnaryHandler) (reply any, err error) {
	returned := false
	defer func() {
		if !returned {
			r.rescue(ctx, info.FullMethod, recover(), &err)
		}
	}()
	reply, err = handler(ctx, req)
	returned = true
	return reply, err
}

func (r *panicRecovery) stream(srv any, st ServerStream, info *StreamServerInfo, handler StreamHandler) (err error) {
	returned := false
	defer func() {
		if !returned {
			r.rescue(st.Context(), info.FullMethod, recover(), &err)
		}
	}()
	err = handler(srv, st)
	returned = true
	return err
}

// rescue sets err for a handler that panicked with value; nil stands for one that called
// runtime.Goexit, whose goroutine ends.
func (r *panicRecovery) rescue(ctx context.Context, method string, value any, err *error) {
	if value == nil {
		return
	}
	stack := debug.Stack()
	logger.Errorf("grpc: the handler of %s panicked: %v\n%s", method, value, stack)
	if *err = r.option.Panicked(ctx, method, value, stack); *err == nil {
		*err = status.Error(codes.Internal, fmt.Sprintf("the handler of %s panicked", method))
	}
}
