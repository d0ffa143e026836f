// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// CallMetricsServerOption makes a server send a report in the trailers of its RPCs: what
// the handler put into the RPC's recorder, over what provider says, which may be nil. RPCs
// whose handlers took no recorder carry provider's metrics alone, or nothing without it.
func CallMetricsServerOption(provider ServerMetricsProvider) grpc.ServerOption {
	p := reporter{provider}
	return serverOption{
		ServerOption: grpc.ChainUnaryInterceptor(p.unary),
		stream:       grpc.ChainStreamInterceptor(p.stream),
	}
}

// serverOption is two options in one: the server asks for the next one.
type serverOption struct {
	grpc.ServerOption
	stream grpc.ServerOption
}

// NextServerOption returns the option that is to be applied, too.
func (o serverOption) NextServerOption() grpc.ServerOption { return o.stream }

// CallMetricsRecorderFromContext returns the recorder of the RPC that the context of a
// handler belongs to. It is nil unless the server has CallMetricsServerOption.
func CallMetricsRecorderFromContext(ctx context.Context) CallMetricsRecorder {
	c, ok := ctx.Value(callKey{}).(*callContext)
	if !ok {
		return nil
	}
	if r := c.recorder(); r != nil {
		return r
	}
	return newRecorder() // the report is gone already
}

type callKey struct{}

// callContext is the context of an RPC's handler, and makes the recorder when it is asked
// for one.
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

// recorder returns nil only after taken has.
func (c *callContext) recorder() *recorder {
	c.once.Do(func() { c.rec = newRecorder() })
	return c.rec
}

// taken returns the recorder, nil if nobody has asked for it. Nobody gets one later.
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

// send puts the report into the trailers, whether or not the RPC succeeded. That it
// can't must not fail the RPC.
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
