// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// diary is a plugin that notes what it is told.
type diary struct {
	mu    sync.Mutex
	notes []string
	name  string
}

type diaryKey struct{ d *diary }

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// want takes the notes.
func (d *diary) want(t *testing.T, what string, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.notes, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(d.notes, "\n"), strings.Join(want, "\n"))
	}
	d.notes = nil
}

func (d *diary) Recorder() estats.MetricsRecorder { return nil }

// Its options.
type (
	clientDiary struct {
		EmptyDialOption
		*diary
	}
	serverDiary struct {
		EmptyServerOption
		*diary
	}
)

func (o clientDiary) ChannelTelemetry() telemetry.Client { return o }
func (o serverDiary) ServerTelemetry() telemetry.Server  { return o }

func (o clientDiary) Channel(target string) telemetry.Channel {
	o.note("channel %t", strings.HasPrefix(target, "dns:///127.0.0.1:"))
	return o
}

type page struct{ *diary }

func (o clientDiary) BeginCall(ctx context.Context, info telemetry.CallInfo) (context.Context, telemetry.Call) {
	o.note("call %s static=%t", info.Method, info.Static)
	return context.WithValue(ctx, diaryKey{o.diary}, true), callPage{o.diary}
}

func (o clientDiary) BeginAttempt(ctx context.Context, info telemetry.AttemptInfo) (context.Context, telemetry.Attempt) {
	if ctx.Value(diaryKey{o.diary}) == nil {
		o.note("no call in the context")
	}
	info.Resolved = false // that depends on timing
	o.note("attempt %+v", info)
	return metadata.AppendToOutgoingContext(ctx, "diary", o.name), attemptPage{page{o.diary}}
}

type callPage struct{ *diary }

func (p callPage) End(err error) { p.note("call ends %v", status.Code(err)) }

func (p page) Sent(m telemetry.Message)     { p.note("sent %d %d", m.Length, m.Compressed) }
func (p page) Received(m telemetry.Message) { p.note("received %d %d", m.Length, m.Compressed) }

type attemptPage struct{ page }

func (p attemptPage) Picked() {} // that depends on timing
func (p attemptPage) End(err error, r telemetry.Response) {
	header := "none"
	if r != nil && r.GotHeaders() {
		header = strings.Join(r.Header()["h"], ",")
	} else if r != nil {
		header += " trailer=" + strings.Join(r.Trailer()["h"], ",")
	}
	p.note("attempt ends %v header=%s", status.Code(err), header)
}

// servedPage writes an RPC down when it has ended: RPCs may end one after the other's
// client has its answer.
type servedPage struct {
	diary *diary
	lines []string
}

func (p *servedPage) Metadata() []string           { return []string{"h", p.diary.name} }
func (p *servedPage) Sent(m telemetry.Message)     { p.add("sent %d", m.Length) }
func (p *servedPage) Received(m telemetry.Message) { p.add("received %d", m.Length) }
func (p *servedPage) End(err error) {
	p.add("ends %v", status.Code(err))
	p.diary.note("%s", strings.Join(p.lines, ", "))
}

func (p *servedPage) add(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (o serverDiary) BeginServed(ctx context.Context, info telemetry.ServedInfo) (context.Context, telemetry.Served) {
	p := &servedPage{diary: o.diary}
	p.add("%s registered=%t", info.Method, info.Registered)
	return context.WithValue(ctx, diaryKey{o.diary}, true), p
}

func TestTelemetry(t *testing.T) {
	a, b, server := &diary{name: "a"}, &diary{name: "b"}, &diary{name: "server"}
	e := newEcho()
	fails := 1
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		if ctx.Value(diaryKey{server}) == nil {
			t.Error("not the plugin's context")
		}
		md, _ := metadata.FromIncomingContext(ctx)
		if got := md.Get("diary"); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("metadata of plugins: %q", got)
		}
		if m.Value == "flaky" && fails > 0 {
			fails--
			return nil, status.Error(codes.Unavailable, "")
		}
		return m, nil
	}
	s := serve(t, e, serverDiary{diary: server})
	cc := newTestClient(t, s.addr, clientDiary{diary: a}, clientDiary{diary: b}, WithDefaultServiceConfig(
		`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 2, "initialBackoff": "0.001s",
		"maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`))
	both := func(what string, want ...string) {
		t.Helper()
		a.want(t, what+", first plugin", want...)
		b.want(t, what+", second plugin", want...)
	}
	both("new", "channel true")
	ctx := testContext(t)

	if err := call(ctx, cc, "flaky", StaticMethod()); err != nil {
		t.Fatal(err)
	}
	both("retry", "call "+unaryMethod+" static=true",
		"attempt {Method:"+unaryMethod+" Previous:0 Transparent:false Hedge:false Resolved:false}",
		"sent 7 7", "attempt ends Unavailable header=none trailer=server",
		"attempt {Method:"+unaryMethod+" Previous:1 Transparent:false Hedge:false Resolved:false}",
		"sent 7 7", "received 7 7", "attempt ends OK header=server", "call ends OK")
	wantCode(t, "unknown", cc.Invoke(ctx, "/no/Thing", &text{}, &text{}), codes.Unimplemented)
	both("unknown", "call /no/Thing static=false",
		"attempt {Method:/no/Thing Previous:0 Transparent:false Hedge:false Resolved:false}",
		"sent 0 0", "attempt ends Unimplemented header=none trailer=server", "call ends Unimplemented")

	st, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	_ = st.SendMsg(&text{Value: "x"})
	_ = st.RecvMsg(new(text))
	_ = st.CloseSend()
	_ = st.RecvMsg(new(text))
	both("stream", "call "+bidiMethod+" static=false",
		"attempt {Method:"+bidiMethod+" Previous:0 Transparent:false Hedge:false Resolved:false}",
		"sent 3 3", "received 3 3", "attempt ends OK header=server", "call ends OK")
	if err := cc.Close(); err != nil {
		t.Error(err)
	}
	s.GracefulStop()
	slices.Sort(server.notes)
	server.want(t, "server",
		"/no/Thing registered=false, ends Unimplemented",
		bidiMethod+" registered=true, received 3, sent 3, ends OK",
		unaryMethod+" registered=true, received 7, ends Unavailable",
		unaryMethod+" registered=true, received 7, sent 7, ends OK")
}

// TestTelemetryOfCallsThatNeverBegin has an interceptor fail a stream before it is an RPC.
func TestTelemetryOfCallsThatNeverBegin(t *testing.T) {
	d := &diary{}
	cc := newTestClient(t, "dns:///127.0.0.1:1", clientDiary{diary: d}, WithChainStreamInterceptor(
		func(context.Context, *StreamDesc, *ClientConn, string, Streamer, ...CallOption) (ClientStream, error) {
			return nil, status.Error(codes.Aborted, "")
		}))
	_, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	wantCode(t, "stream", err, codes.Aborted)
	d.want(t, "stream", "channel true", "call "+bidiMethod+" static=false", "call ends Aborted")
}

func TestGlobalTelemetry(t *testing.T) {
	c, s := &diary{name: "a"}, &diary{name: "server"}
	remove := telemetry.AddGlobal(clientDiary{diary: c}, serverDiary{diary: s})
	defer remove()
	server := serve(t, newEcho())
	own := &diary{name: "b"}
	cc := newTestClient(t, server.addr, clientDiary{diary: own})
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"channel true", "call " + unaryMethod + " static=false",
		"attempt {Method:" + unaryMethod + " Previous:0 Transparent:false Hedge:false Resolved:false}",
		"sent 3 3", "received 3 3", "attempt ends OK header=server", "call ends OK",
	}
	c.want(t, "global", want...)
	own.want(t, "own", want...)
	server.GracefulStop()
	s.want(t, "server", unaryMethod+" registered=true, received 3, sent 3, ends OK")
	remove()
	cc, err := NewClient(server.addr, WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	_ = cc.Close()
	c.want(t, "after its removal")
}
