// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// The headers that ask for faults (A33).
const (
	headerAbortHTTP  = "x-envoy-fault-abort-request"
	headerAbortGRPC  = "x-envoy-fault-abort-grpc-request"
	headerAbortShare = "x-envoy-fault-abort-request-percentage"
	headerDelay      = "x-envoy-fault-delay-request"
	headerDelayShare = "x-envoy-fault-delay-request-percentage"
)

// activeFaults counts the faults that are in progress in the process.
var activeFaults atomic.Int64

// faults injects the faults of a configuration.
type faults struct {
	config *FaultConfig
	memory *Memory // of the channel
	active *atomic.Int64
	roll   func(n uint32) uint32
}

// Client implements ClientKind.
func (Fault) Client(i Instance) rpcconfig.Interceptor {
	c, ok := i.Effective().(*FaultConfig)
	if !ok || c.Delay == nil && c.Abort == nil {
		return nil
	}
	return &faults{config: c, memory: i.Memory, active: &activeFaults, roll: rand.Uint32N}
}

// Begin implements rpcconfig.Interceptor. The delay comes first, then the abort.
func (f *faults) Begin(ctx context.Context, _ rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	md, _ := metadata.FromOutgoingContext(ctx)
	switch err := f.delay(ctx, md); err {
	case nil:
	case errChannelClosed: // the RPC fails next
		return next(ctx)
	default:
		return nil, err
	}
	code, aborts := f.abort(md)
	switch {
	case !aborts:
		return next(ctx)
	case code == codes.OK: // as if the server had sent only this status
		return ended{ctx}, nil
	default:
		return nil, status.Error(code, "RPC terminated due to fault injection")
	}
}

// begin counts a fault. It returns false, and counts nothing, if there are too many.
func (f *faults) begin() bool {
	if f.active.Add(1) <= int64(f.config.MaxActive) {
		return true
	}
	f.active.Add(-1)
	return false
}

func (f *faults) end() { f.active.Add(-1) }

// hits decides at random whether a fault happens. text, if present, is a header that may
// reduce the share.
func (f *faults) hits(share match.Fraction, per uint32, text string, present bool) bool {
	if n, err := strconv.ParseUint(text, 10, 32); present && err == nil {
		share = min(share, match.Fraction(min(n*uint64(match.All)/uint64(per), uint64(match.All))))
	}
	return share > 0 && share.Match(f.roll(uint32(match.All)))
}

var errChannelClosed = errors.New("the channel is closed")

// delay delays the RPC if the configuration says so. It fails if the context ends meanwhile, or with errChannelClosed.
func (f *faults) delay(ctx context.Context, md metadata.MD) error {
	d := f.config.Delay
	if d == nil {
		return nil
	}
	pause, share := d.Delay, ""
	present := false
	if d.ByHeader {
		text, ok := first(md, headerDelay)
		ms, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil || ms < 0 || ms > int64(1<<63-1)/int64(time.Millisecond) {
			return nil
		}
		pause = time.Duration(ms) * time.Millisecond
		share, present = first(md, headerDelayShare)
	}
	if pause <= 0 || !f.hits(d.Share, d.Per, share, present) || !f.begin() {
		return nil
	}
	defer f.end()
	closed := make(chan struct{})
	defer f.memory.AtEnd(func() { close(closed) })()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-closed:
		return errChannelClosed
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// abort returns the code that the RPC must end with, and whether it must end.
func (f *faults) abort(md metadata.MD) (code codes.Code, aborts bool) {
	a := f.config.Abort
	if a == nil {
		return 0, false
	}
	code, share, present := a.Code, "", false
	if a.ByHeader {
		var ok bool
		if code, ok = abortOf(md); !ok {
			return 0, false
		}
		share, present = first(md, headerAbortShare)
	}
	if !f.hits(a.Share, a.Per, share, present) || !f.begin() {
		return 0, false
	}
	f.end() // the fault is over at once
	return code, true
}

// abortOf returns the code that the headers ask for. The header with an HTTP status takes
// precedence. A header that is not valid is ignored.
func abortOf(md metadata.MD) (codes.Code, bool) {
	if text, ok := first(md, headerAbortHTTP); ok {
		if n, err := strconv.Atoi(text); err == nil && n >= 200 && n < 600 {
			return grpcwire.HTTPStatusCode(n), true
		}
	}
	if text, ok := first(md, headerAbortGRPC); ok {
		if n, err := strconv.ParseUint(text, 10, 32); err == nil && n <= uint64(codes.Unauthenticated) {
			return codes.Code(n), true
		}
	}
	return 0, false
}

func first(md metadata.MD, name string) (string, bool) {
	if v := md[name]; len(v) > 0 {
		return v[0], true
	}
	return "", false
}

// ended is a stream that has ended with OK and without messages.
type ended struct{ ctx context.Context }

func (ended) Header() (metadata.MD, error) { return nil, nil }
func (ended) Trailer() metadata.MD         { return metadata.MD{} }
func (ended) CloseSend() error             { return nil }
func (e ended) Context() context.Context   { return e.ctx }
func (ended) SendMsg(any) error            { return io.EOF }
func (ended) RecvMsg(any) error            { return io.EOF }
