// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// CallMetricsServerOption returns an option with which a server sends a report in the trailers
// of its RPCs. The report has the metrics of provider, which may be nil, and the metrics that
// the handler put into the RPC's recorder. The latter replace the former. If a handler took no
// recorder, the report has only provider's metrics, and there is no report if provider is nil. If the handler
// hands its stream over (package experimental/streams), the report has what was recorded until it returned.
func CallMetricsServerOption(provider ServerMetricsProvider) grpc.ServerOption {
	p := reporter{provider}
	return serverOption{
		ServerOption: grpc.ChainUnaryInterceptor(p.unary),
		stream:       grpc.ChainStreamInterceptor(p.stream),
	}
}

// serverOption is two options in one. The server calls NextServerOption for the second one.
type serverOption struct {
	grpc.ServerOption
	stream grpc.ServerOption
}

// NextServerOption returns the second option.
func (o serverOption) NextServerOption() grpc.ServerOption { return o.stream }

// CallMetricsRecorderFromContext returns the recorder of an RPC. ctx is the context of the
// RPC's handler. It returns nil unless the server has CallMetricsServerOption.
func CallMetricsRecorderFromContext(ctx context.Context) CallMetricsRecorder {
	c, ok := ctx.Value(callKey{}).(*callContext)
	if !ok {
		return nil
	}
	if r := c.recorder(); r != nil {
		return r
	}
	return newRecorder() // the report was already sent without one
}

type callKey struct{}

// callContext is the context of an RPC's handler. It makes the recorder when the handler
// first asks for it.
type callContext struct {
	context.Context
	once sync.Once
	rec  *recorder
}

func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// String keeps fmt from reading fields that others write.
func (c *callContext) String() string { return "context of a gRPC call with load reports" }

// recorder returns the recorder, and makes it if there is none. It returns nil if taken has
// returned nil before.
func (c *callContext) recorder() *recorder {
	c.once.Do(func() { c.rec = newRecorder() })
	return c.rec
}

// taken returns the recorder, or nil if the handler has not asked for one. In that case the
// handler can't get one any more.
func (c *callContext) taken() *recorder {
	c.once.Do(func() {})
	return c.rec
}

// reporter holds the interceptors of a server.
type reporter struct {
	provider ServerMetricsProvider
}

func (p reporter) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	c := &callContext{Context: ctx}
	resp, err := handler(c, req)
	p.send(c, func(md metadata.MD) error { return grpc.SetTrailer(ctx, md) })
	return resp, err
}

func (p reporter) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	c := &callContext{Context: ss.Context()}
	err := handler(srv, serverStream{ss, c})
	p.send(c, func(md metadata.MD) error {
		ss.SetTrailer(md)
		return nil
	})
	return err
}

type serverStream struct {
	grpc.ServerStream
	ctx *callContext
}

func (s serverStream) Context() context.Context { return s.ctx }

// send puts the report into the trailers, whether or not the RPC succeeded. If that fails,
// the RPC must not fail.
func (p reporter) send(c *callContext, setTrailer func(metadata.MD) error) {
	recorder := c.taken()
	if recorder == nil && p.provider == nil {
		return
	}
	metrics := unset()
	if p.provider != nil {
		metrics.overlay(p.provider.ServerMetrics())
	}
	if recorder != nil {
		metrics.overlay(recorder.ServerMetrics())
	}
	b, err := proto.Marshal(metrics.report())
	if err == nil {
		err = setTrailer(metadata.MD{trailerKey: []string{string(b)}})
	}
	if err != nil {
		logger.Warningf("no load report was sent: %v", err)
	}
}
