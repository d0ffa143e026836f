// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"slices"
	"testing"
	"time"

	procfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/extproc"
	"google.golang.org/grpc/internal/xds/httpfilter"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// processedChannel makes a channel whose RPCs the processor sees.
func (w *processedWorld) channel(t *testing.T, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	b, err := bootstrap.Parse([]byte(processorText(w.plane, "", w.target())), bootstrap.Options{Services: true})
	if err != nil {
		t.Fatal(err)
	}
	pool := xdsclient.NewPool(xdsclient.Options{
		Bootstrap: b, Features: xdsclient.Features(), Filters: httpfilter.NewRegistry(httpfilter.Router{}, httpfilter.Fault{}, extproc.Kind{}),
	})
	return channelTo(t, "xds:///target", xdsresolver.Builder{Pool: pool}, options...)
}

func (w *processedWorld) target() string { return "passthrough:///" + w.processor.address }

// serve has the control plane send RPCs through the processor.
func (w *processedWorld) serve(change ...func(*procfilterv3.ExternalProcessor)) {
	f := filter("proc", processing(w.target(), change...))
	w.plane.set(filtered("target", "r", f), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, w.backend)))
}

func unary(ctx context.Context, cc *grpc.ClientConn, opts ...grpc.CallOption) error {
	return cc.Invoke(ctx, "/s/Unary", wrapperspb.String("a"), &wrapperspb.StringValue{}, append(opts, grpc.WaitForReady(true))...)
}

// TestA93SideChannel: RPCs of all channels share one connection to the processor, also when the
// configuration changes; it is closed with the last channel.
func TestA93SideChannel(t *testing.T) {
	w := newProcessedWorld(t)
	w.processor.play(echoAll)
	w.serve()
	first, second := w.channel(t), w.channel(t)
	for _, cc := range []*grpc.ClientConn{first, second, first} {
		if err := unary(t.Context(), cc); err != nil {
			t.Fatal(err)
		}
	}
	w.processor.play(echoAll)
	w.serve(onlyHeaders)
	until(t, func() bool { // the new configuration is there
		w.processor.play(echoAll)
		if err := unary(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		return len(w.processor.heard()) == 2
	})
	first.Close()
	if err := unary(t.Context(), second); err != nil {
		t.Error(err)
	}
	if begun, ended := w.processor.conns.begun.Load(), w.processor.conns.ended.Load(); begun != 1 || ended != 0 {
		t.Errorf("%d connections, of which %d have ended; want one", begun, ended)
	}
	second.Close()
	until(t, func() bool { return w.processor.conns.ended.Load() == 1 })
}

// holding waits at the first event.
func holding(begun chan<- struct{}) func(*conversation) error {
	return func(c *conversation) error {
		if _, err := c.next(); err != nil {
			return err
		}
		begun <- struct{}{}
		<-c.Context().Done()
		return nil
	}
}

// TestA93Cancelled: an RPC that is cancelled leaves the processor at once.
func TestA93Cancelled(t *testing.T) {
	w := newProcessedWorld(t)
	begun := make(chan struct{}, 1)
	w.processor.play(holding(begun))
	w.serve()
	cc := w.channel(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if err := unary(ctx, cc); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	if err := <-w.processor.ends; err == nil {
		t.Error("the processor's stream has not been cancelled")
	}
}

// TestA93Forgotten: a stream that its program forgets leaves the processor with its channel.
func TestA93Forgotten(t *testing.T) {
	w := newProcessedWorld(t)
	w.processor.play(echoAll)
	w.serve()
	cc := w.channel(t)
	desc := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	st, err := cc.NewStream(context.Background(), desc, "/s/Stream", grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	if err := st.SendMsg(wrapperspb.String("a")); err != nil {
		t.Fatal(err)
	}
	if err := st.RecvMsg(&wrapperspb.StringValue{}); err != nil {
		t.Fatal(err)
	}
	cc.Close()
	<-w.processor.ends
	until(t, func() bool { return w.processor.conns.ended.Load() == 1 })
}

// TestA93Observed: a processor that observes an RPC may do so for some time after it.
func TestA93Observed(t *testing.T) {
	w := newProcessedWorld(t)
	over := make(chan struct{})
	w.processor.play(func(c *conversation) error {
		<-over
		for {
			if _, err := c.next(); err != nil {
				return nil //nolint:nilerr // the client has finished
			}
		}
	})
	w.serve(func(c *procfilterv3.ExternalProcessor) { c.ObservabilityMode = true })
	if err := unary(t.Context(), w.channel(t)); err != nil {
		t.Fatal(err)
	}
	close(over)
	<-w.processor.ends
	if heard := w.processor.heard(); len(heard) != 6 {
		t.Errorf("%q", heard)
	}
}

// TestA93PingPong: messages pass one by one, as long as a stream lives.
func TestA93PingPong(t *testing.T) {
	w := newProcessedWorld(t)
	w.processor.play(echoAll)
	w.serve()
	cc := w.channel(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	st, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/s/Stream", grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := st.SendMsg(wrapperspb.String("a")); err != nil {
			t.Fatal(err)
		}
		var m wrapperspb.StringValue
		if err := st.RecvMsg(&m); err != nil || m.GetValue() != "echo a" {
			t.Fatal(m.GetValue(), err)
		}
	}
}

// TestA93Metrics: how long events are held is recorded, for the target and the cluster.
func TestA93Metrics(t *testing.T) {
	w := newProcessedWorld(t)
	w.processor.play(echoAll)
	w.serve()
	r := &recorder{counts: map[string]int64{}}
	if err := unary(t.Context(), w.channel(t, grpc.WithStatsHandler(r))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"client_headers_duration", "client_half_close_duration", "server_headers_duration", "server_trailers_duration"} {
		key := "grpc.client_ext_proc." + name + " xds:///target"
		if n, labels := r.count(key), r.labelsOf(key); n != 1 || !slices.Equal(labels, []string{"xds:///target", "c"}) {
			t.Errorf("%s: %d, %q", name, n, labels)
		}
	}
}

// TestA93Deadline: the processor does not hold an RPC for longer than that may take.
func TestA93Deadline(t *testing.T) {
	w := newProcessedWorld(t)
	w.processor.play(holding(make(chan struct{}, 1)))
	w.serve()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := unary(ctx, w.channel(t)); status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
}

// TestA93Chain: an RPC that goes through two processors ends once, also if a filter behind them ends it.
func TestA93Chain(t *testing.T) {
	w := newProcessedWorld(t)
	w.processor.play(echoAll)
	abort := &faultv3.FaultAbort{ErrorType: &faultv3.FaultAbort_HeaderAbort_{HeaderAbort: &faultv3.FaultAbort_HeaderAbort{}}, Percentage: always}
	one, two := filter("one", processing(w.target())), filter("two", processing(w.target()))
	l := filtered("target", "r", one, two, filter("fault", &faultv3.HTTPFault{Abort: abort}))
	w.plane.set(l, routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, w.backend)))
	cc := w.channel(t)
	for header, want := range map[string]codes.Code{"": codes.OK, "10": codes.Aborted, "0": codes.OK} {
		ctx, ends := t.Context(), make(chan error, 9)
		if header != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "x-envoy-fault-abort-grpc-request", header)
		}
		err := unary(ctx, cc, grpc.OnFinish(func(err error) { ends <- err }))
		if header != "0" && status.Code(err) != want { // of success without a reply the program is told otherwise
			t.Errorf("header %q: %v, want %v", header, err, want)
		}
		if len(ends) != 1 {
			t.Fatalf("header %q: %d ends", header, len(ends))
		}
		if err := <-ends; status.Code(err) != want {
			t.Errorf("header %q: it ended with %v, want %v", header, err, want)
		}
	}
}
