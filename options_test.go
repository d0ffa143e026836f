// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/types/known/emptypb"
)

type mutePerRPC struct{ credentials.PerRPCCredentials }

func (*mutePerRPC) RequireTransportSecurity() bool { return false }

type muteStats struct{ stats.Handler }

// askedLogger notes the methods that it was asked for.
type askedLogger struct{ methods []string }

func (l *askedLogger) GetMethodLogger(method string) binarylog.MethodLogger {
	l.methods = append(l.methods, method)
	return nil
}

// slicedPool can't be compared.
type slicedPool struct {
	mem.BufferPool
	_ []int
}

func keptOptions(t *testing.T, opts ...DialOption) *channelOptions {
	t.Helper()
	cc, err := NewClient("passthrough:///here", append([]DialOption{WithTransportCredentials(insecure.NewCredentials())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	cc.Close()
	return cc.opts
}

func TestOptionsShared(t *testing.T) {
	perRPC, handler, logger := &mutePerRPC{}, &muteStats{}, &askedLogger{}
	for name, opts := range map[string][]DialOption{
		"none":         nil,
		"user agent":   {WithUserAgent("me")},
		"keepalive":    {WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute})},
		"call options": {WithDefaultCallOptions(MaxCallRecvMsgSize(1), WaitForReady(true))},
		"back-off":     {WithConnectParams(ConnectParams{Backoff: backoff.DefaultConfig})},
		"per RPC":      {WithPerRPCCredentials(perRPC)},
		"stats":        {WithStatsHandler(handler)},
		"binary log":   {withBinaryLogger(logger)},
		"windows":      {WithInitialWindowSize(1 << 20), WithReadBufferSize(1 << 16)},
	} {
		a, b := keptOptions(t, opts...), keptOptions(t, opts...)
		if a != b {
			t.Errorf("%s: two channels made alike have different options", name)
		}
		if name != "none" && a == keptOptions(t) {
			t.Errorf("%s: the same as without", name)
		}
	}
}

// What can't be compared is not shared, whatever it is.
func TestOptionsNotShared(t *testing.T) {
	dialer := func(context.Context, string) (net.Conn, error) { return nil, net.ErrClosed }
	unary := func(context.Context, string, any, any, *ClientConn, UnaryInvoker, ...CallOption) error { return nil }
	for name, opt := range map[string]DialOption{
		"dialer":      WithContextDialer(dialer),
		"interceptor": WithChainUnaryInterceptor(unary),
		"pool":        poolOption{pool: slicedPool{}},
		"binary log":  withBinaryLogger(funcLogger(func() {})),
		"stats": WithStatsHandler(struct{ stats.Handler }{struct {
			stats.Handler
			_ []int
		}{}}),
	} {
		if one, other := keptOptions(t, opt), keptOptions(t, opt); one == other {
			t.Errorf("%s: shared", name)
		}
	}
}

// funcLogger can't be compared.
type funcLogger func()

func (funcLogger) GetMethodLogger(string) binarylog.MethodLogger { return nil }

// Channels that differ in their binary logger alone have each its own.
func TestBinaryLoggersNotShared(t *testing.T) {
	one, other := &askedLogger{}, &askedLogger{}
	for method, l := range map[string]*askedLogger{"/a.S/One": one, "/a.S/Other": other} {
		cc, err := NewClient("unix:///nowhere", WithTransportCredentials(insecure.NewCredentials()), withBinaryLogger(l))
		if err != nil {
			t.Fatal(err)
		}
		defer cc.Close()
		if err := cc.Invoke(t.Context(), method, &emptypb.Empty{}, &emptypb.Empty{}); err == nil {
			t.Error("there is a server nowhere")
		}
	}
	if !slices.Equal(one.methods, []string{"/a.S/One"}) || !slices.Equal(other.methods, []string{"/a.S/Other"}) {
		t.Errorf("asked for %q and %q", one.methods, other.methods)
	}
}

type poolOption struct {
	EmptyDialOption
	pool mem.BufferPool
}

func (p poolOption) ChannelBufferPool() mem.BufferPool { return p.pool }

// panicSink is told of panics that are contained.
type panicSink struct{}

func (panicSink) Panicked(any, []byte) {}

// No field is left out of the comparison: any one that differs makes a difference.
func TestOptionsComparedInFull(t *testing.T) {
	derived := map[string]bool{"Recorders": true}
	var visit func(v reflect.Value, name string)
	var whole, zero channelOptions
	visit = func(v reflect.Value, name string) {
		if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[keepalive.ClientParameters]() {
			for i := range v.NumField() {
				if f := v.Type().Field(i); !derived[f.Name] {
					visit(v.Field(i), name+"."+f.Name)
				}
			}
			return
		}
		w := reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem() // settable, exported or not
		was := reflect.New(w.Type()).Elem()
		was.Set(w)
		w.Set(other(t, w.Type(), name))
		if whole.sameAs(&zero) || zero.sameAs(&whole) {
			t.Errorf("%s makes no difference to sameAs", name)
		}
		w.Set(was)
	}
	if !whole.sameAs(&zero) {
		t.Fatal("equal options are told apart")
	}
	visit(reflect.ValueOf(&whole).Elem(), "options")
}

// other returns a value that is not zero.
func other(t *testing.T, of reflect.Type, name string) reflect.Value {
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint32:
		v.SetUint(1)
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(of, 1, 1))
	case reflect.Func:
		v.Set(reflect.MakeFunc(of, func([]reflect.Value) []reflect.Value { return nil }))
	case reflect.Struct: // keepalive.ClientParameters
		v.Field(0).SetInt(1)
	case reflect.Interface:
		for _, x := range []any{
			insecure.NewCredentials(), insecure.NewBundle(), defaultBackoff,
			NewGZIPCompressor(), NewGZIPDecompressor(), mem.DefaultBufferPool(),
			tokens{},
			&askedLogger{},
			panicSink{},
		} {
			if reflect.TypeOf(x).Implements(of) {
				v.Set(reflect.ValueOf(x))
				return v
			}
		}
		t.Fatalf("%s: no value of type %v", name, of)
	default:
		t.Fatalf("%s: no value of type %v", name, of)
	}
	return v
}

// The list of recent options keeps none of them.
func TestOptionsForgotten(t *testing.T) {
	gone := make(chan struct{})
	func() {
		o := keptOptions(t, WithUserAgent("forgotten"))
		runtime.AddCleanup(o, func(struct{}) { close(gone) }, struct{}{})
	}()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		runtime.GC()
		select {
		case <-gone:
			return
		default:
			runtime.Gosched()
		}
	}
	t.Error("the options of a channel that is closed are kept")
}
