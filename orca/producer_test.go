// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	orcaservice "github.com/cncf/xds/go/xds/service/orca/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// server is a SubConn, its connection and the server behind it.
type server struct {
	balancer.SubConn

	producer balancer.Producer
	free     func()
	refs     int

	refuses error    // what NewStream fails with
	traced  []string // of its channelz trace
	streams []*stream
}

func (s *server) GetOrBuildProducer(b balancer.ProducerBuilder) (balancer.Producer, func()) {
	if s.refs == 0 {
		s.producer, s.free = b.Build(s)
	}
	s.refs++
	return s.producer, func() {
		if s.refs--; s.refs == 0 {
			s.free()
		}
	}
}

func (s *server) TraceError(what string) { s.traced = append(s.traced, what) }

func (s *server) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return errors.New("unary")
}

func (s *server) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	st := &stream{ctx: ctx, method: method, began: time.Now(), answers: make(chan any)}
	s.streams = append(s.streams, st)
	return st, s.refuses
}

// answer has the last stream receive reports and errors.
func (s *server) answer(answers ...any) {
	last := s.streams[len(s.streams)-1]
	for _, a := range answers {
		last.answers <- a
	}
	synctest.Wait()
}

// stream is one that was asked for.
type stream struct {
	grpc.ClientStream
	ctx     context.Context
	method  string
	began   time.Time
	request *orcaservice.OrcaLoadReportRequest
	answers chan any // *OrcaLoadReport or error
}

func (s *stream) SendMsg(m any) error {
	s.request = m.(*orcaservice.OrcaLoadReportRequest)
	return io.EOF // as when the server has answered already
}

func (s *stream) CloseSend() error { return nil }

func (s *stream) RecvMsg(m any) error {
	select {
	case a := <-s.answers:
		if err, ok := a.(error); ok {
			return err
		}
		proto.Merge(m.(proto.Message), a.(proto.Message))
		return nil
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// listener keeps the CPU utilization of what it hears.
type listener struct {
	heard []float64
	on    func()
}

func (l *listener) OnLoadReport(r *orcapb.OrcaLoadReport) {
	l.heard = append(l.heard, r.GetCpuUtilization())
	if l.on != nil {
		l.on()
	}
}

func report(cpu float64) *orcapb.OrcaLoadReport {
	return &orcapb.OrcaLoadReport{CpuUtilization: cpu}
}

func every(d time.Duration) OOBListenerOptions { return OOBListenerOptions{ReportInterval: d} }

func TestListenersShareAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, b := &server{}, &listener{}, &listener{}
		stopA := RegisterOOBListener(s, a, every(10*time.Second))
		stopB := RegisterOOBListener(s, b, every(20*time.Second))
		synctest.Wait()
		if len(s.streams) != 1 {
			t.Fatalf("%d streams", len(s.streams))
		}
		st := s.streams[0]
		if want := "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics"; st.method != want {
			t.Errorf("method %s", st.method)
		}
		if d := st.request.GetReportInterval().AsDuration(); d != 10*time.Second {
			t.Errorf("asked for a report every %v", d)
		}
		s.answer(report(1), report(2))
		if len(a.heard) != 2 || len(b.heard) != 2 {
			t.Errorf("heard %v and %v", a.heard, b.heard)
		}

		// The interval follows those who are left.
		stopA()
		stopA()
		synctest.Wait()
		if len(s.streams) != 2 || st.ctx.Err() == nil {
			t.Fatalf("%d streams, the first is at %v", len(s.streams), st.ctx.Err())
		}
		if d := s.streams[1].request.GetReportInterval().AsDuration(); d != 20*time.Second {
			t.Errorf("asked for a report every %v", d)
		}
		s.answer(report(3))
		if len(a.heard) != 2 || len(b.heard) != 3 {
			t.Errorf("heard %v and %v", a.heard, b.heard)
		}
		stopB()
		synctest.Wait()
		if s.refs != 0 || len(s.streams) != 2 || s.streams[1].ctx.Err() == nil {
			t.Errorf("after all: %d references, %d streams", s.refs, len(s.streams))
		}
	})
}

func TestStreamIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := &server{}, &listener{}
		stop := RegisterOOBListener(s, l, every(0))
		defer stop()
		synctest.Wait()
		// A second's pause at first, and then 1.6 of it, give or take a fifth.
		for i, bound := range [][2]float64{{1, 1}, {1.28, 1.92}, {2.04, 3.08}} {
			s.answer(status.Error(codes.Unavailable, "no"))
			at := time.Now()
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(s.streams) != i+2 {
				t.Fatalf("%d streams, want %d", len(s.streams), i+2)
			}
			if p := s.streams[i+1].began.Sub(at).Seconds(); p < bound[0] || p > bound[1] {
				t.Errorf("pause %d: %v s, want %v", i, p, bound)
			}
		}
		// After a report it is made again at once.
		s.answer(report(1), status.Error(codes.Unavailable, "no"))
		if len(s.streams) != 5 {
			t.Errorf("%d streams", len(s.streams))
		}
		// The next is not, if it ends at once, too.
		s.answer(report(1), status.Error(codes.Unavailable, "no"))
		at := time.Now()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.streams) != 6 || s.streams[5].began.Sub(at) != time.Second {
			t.Errorf("%d streams", len(s.streams))
		}
		// The pause ends with the last listener.
		s.answer(status.Error(codes.Unavailable, "no"))
		stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(s.streams) != 6 {
			t.Errorf("%d streams without a listener", len(s.streams))
		}
	})
}

func TestServerWithoutTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := &server{}, &listener{}
		stop := RegisterOOBListener(s, l, every(0))
		synctest.Wait()
		s.answer(status.Error(codes.Unimplemented, "what?"))
		stop2 := RegisterOOBListener(s, &listener{}, every(time.Second))
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(s.streams) != 1 || len(l.heard) != 0 {
			t.Errorf("%d streams, heard %v", len(s.streams), l.heard)
		}
		if len(s.traced) != 1 || !strings.HasSuffix(s.traced[0], "what?") {
			t.Errorf("the subchannel's trace: %q", s.traced)
		}
		stop()
		stop2()
		stop = RegisterOOBListener(s, l, every(0))
		synctest.Wait()
		if len(s.streams) != 1 {
			t.Errorf("%d streams after all listeners had left", len(s.streams))
		}
		stop()
	})
}

func TestStreamCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuses: status.Error(codes.Unavailable, "not connected")}
		stop := RegisterOOBListener(s, &listener{}, every(0))
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(s.streams); n < 10 || n > 60 {
			t.Errorf("%d attempts in an hour", n)
		}
		stop()
	})
}

// slow returns a listener whose calls say that they have begun, and then wait.
func slow() (l *listener, began chan struct{}, goOn chan struct{}) {
	began, goOn = make(chan struct{}, 10), make(chan struct{})
	return &listener{on: func() { began <- struct{}{}; <-goOn }}, began, goOn
}

// TestOneCallAtATime: also when a listener is called as its stream is replaced.
func TestOneCallAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &server{}, &listener{}
		a, began, goOn := slow()
		stopA := RegisterOOBListener(s, a, every(10*time.Second))
		synctest.Wait()
		s.answer(report(1))
		<-began
		stopB := RegisterOOBListener(s, b, every(time.Second))
		synctest.Wait()
		s.answer(report(2))
		if len(s.streams) != 2 || len(began) != 0 || len(b.heard) != 0 {
			t.Errorf("%d streams; heard %v and %v while a call is under way", len(s.streams), a.heard, b.heard)
		}
		close(goOn)
		synctest.Wait()
		if !slices.Equal(a.heard, []float64{1, 2}) || !slices.Equal(b.heard, []float64{2}) {
			t.Errorf("heard %v and %v", a.heard, b.heard)
		}
		stopA()
		stopB()
	})
}

// TestNoCallAfterTheEnd: the end of a registration waits for a call of its listener, and for none of another.
func TestNoCallAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		first, began, goOn := slow()
		second, began2, goOn2 := slow()
		stopFirst := RegisterOOBListener(s, first, every(0))
		stopSecond := RegisterOOBListener(s, second, every(0))
		synctest.Wait()
		s.answer(report(1))
		if len(began) == 0 { // no order is promised
			first, second = second, first
			began, goOn, goOn2 = began2, goOn2, goOn
			stopFirst, stopSecond = stopSecond, stopFirst
		}
		<-began
		stopSecond()
		var ended atomic.Bool
		go func() {
			stopFirst()
			ended.Store(true)
		}()
		synctest.Wait()
		if ended.Load() {
			t.Error("the registration ends while the listener is called")
		}
		close(goOn)
		close(goOn2)
		synctest.Wait()
		if !ended.Load() || len(first.heard) != 1 || len(second.heard) != 0 || s.refs != 0 {
			t.Errorf("ended: %v; heard %v and %v; %d references", ended.Load(), first.heard, second.heard, s.refs)
		}
	})
}
