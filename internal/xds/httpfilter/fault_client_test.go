// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"context"
	"io"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// begin sends an RPC through faults; passed says whether it went on.
func begin(ctx context.Context, f *faults) (st rpcconfig.Stream, passed bool, err error) {
	st, err = f.Begin(ctx, rpcconfig.RPC{}, func(ctx context.Context) (rpcconfig.Stream, error) {
		passed = true
		return ended{ctx}, nil
	})
	return st, passed, err
}

func injecting(c FaultConfig, roll uint32) *faults {
	if c.MaxActive == 0 {
		c.MaxActive = math.MaxUint32
	}
	return &faults{config: &c, active: new(atomic.Int64), roll: func(uint32) uint32 { return roll }}
}

func TestA33Abort(t *testing.T) {
	byHeader := &FaultAbort{Share: 500_000, ByHeader: true, Per: 100}
	for _, tt := range []struct {
		name    string
		abort   *FaultAbort
		headers []string
		roll    uint32
		want    codes.Code // OK: the RPC goes on
	}{
		{"all", &FaultAbort{Share: match.All, Code: codes.NotFound}, nil, 999_999, codes.NotFound},
		{"hit", &FaultAbort{Share: 10, Code: codes.NotFound}, nil, 9, codes.NotFound},
		{"miss", &FaultAbort{Share: 10, Code: codes.NotFound}, nil, 10, codes.OK},
		{"none", &FaultAbort{Share: 0, Code: codes.NotFound}, nil, 0, codes.OK},
		{"no header", byHeader, nil, 0, codes.OK},
		{"HTTP", byHeader, []string{headerAbortHTTP, "503"}, 0, codes.Unavailable},
		{"gRPC", byHeader, []string{headerAbortGRPC, "3"}, 0, codes.InvalidArgument},
		{"both", byHeader, []string{headerAbortGRPC, "3", headerAbortHTTP, "404"}, 0, codes.Unimplemented},
		{"invalid HTTP", byHeader, []string{headerAbortGRPC, "3", headerAbortHTTP, "x"}, 0, codes.InvalidArgument},
		{"invalid", byHeader, []string{headerAbortGRPC, "17"}, 0, codes.OK},
		{"negative", byHeader, []string{headerAbortGRPC, "-1"}, 0, codes.OK},
		{"share", byHeader, []string{headerAbortGRPC, "3", headerAbortShare, "1"}, 9_999, codes.InvalidArgument},
		{"share missed", byHeader, []string{headerAbortGRPC, "3", headerAbortShare, "1"}, 10_000, codes.OK},
		{"share capped", byHeader, []string{headerAbortGRPC, "3", headerAbortShare, "100"}, 500_000, codes.OK},
		{"invalid share", byHeader, []string{headerAbortGRPC, "3", headerAbortShare, "x"}, 499_999, codes.InvalidArgument},
		{"not by header", &FaultAbort{Share: match.All, Code: codes.NotFound, Per: 100}, []string{headerAbortGRPC, "3", headerAbortShare, "0"}, 0, codes.NotFound},
	} {
		f := injecting(FaultConfig{Abort: tt.abort}, tt.roll)
		_, passed, err := begin(metadata.NewOutgoingContext(t.Context(), metadata.Pairs(tt.headers...)), f)
		if status.Code(err) != tt.want || passed != (tt.want == codes.OK) {
			t.Errorf("%s: %v, went on: %t", tt.name, err, passed)
		}
		if n := f.active.Load(); n != 0 {
			t.Errorf("%s: %d are active", tt.name, n)
		}
	}
}

// TestA33OK: "as if it has immediately received trailing metadata from the server with the status
// OK".
func TestA33OK(t *testing.T) {
	st, passed, err := begin(t.Context(), injecting(FaultConfig{Abort: &FaultAbort{Share: match.All}}, 0))
	if err != nil || passed {
		t.Fatal(passed, err)
	}
	if err := st.RecvMsg(nil); err != io.EOF {
		t.Error(err)
	}
	if err := st.SendMsg(nil); err != io.EOF {
		t.Error(err)
	}
	if md, err := st.Header(); md != nil || err != nil || st.Trailer() == nil || st.CloseSend() != nil || st.Context() != t.Context() {
		t.Error(md, err)
	}
}

func TestA33Delay(t *testing.T) {
	byHeader := &FaultDelay{Share: match.All, ByHeader: true, Per: 100}
	for _, tt := range []struct {
		name    string
		delay   *FaultDelay
		headers []string
		want    time.Duration
	}{
		{"fixed", &FaultDelay{Share: match.All, Delay: time.Second}, nil, time.Second},
		{"miss", &FaultDelay{Share: 1, Delay: time.Second}, nil, 0},
		{"zero", &FaultDelay{Share: match.All}, nil, 0},
		{"header", byHeader, []string{headerDelay, "53"}, 53 * time.Millisecond},
		{"no header", byHeader, nil, 0},
		{"invalid", byHeader, []string{headerDelay, "5s"}, 0},
		{"negative", byHeader, []string{headerDelay, "-5"}, 0},
		{"too large", byHeader, []string{headerDelay, "9223372036854775807"}, 0},
		{"share", byHeader, []string{headerDelay, "53", headerDelayShare, "0"}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := injecting(FaultConfig{Delay: tt.delay}, 1)
			start := time.Now()
			_, passed, err := begin(metadata.NewOutgoingContext(t.Context(), metadata.Pairs(tt.headers...)), f)
			if d := time.Since(start); d != tt.want || !passed || err != nil {
				t.Errorf("%s: %v, %t, %v", tt.name, d, passed, err)
			}
		})
	}
}

func TestA33DelayEndsWithTheRPC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f := injecting(FaultConfig{Delay: &FaultDelay{Share: match.All, Delay: time.Hour}, Abort: &FaultAbort{Share: match.All, Code: codes.NotFound}}, 0)
		if _, passed, err := begin(ctx, f); passed || status.Code(err) != codes.DeadlineExceeded {
			t.Error(passed, err)
		}
		if n := f.active.Load(); n != 0 {
			t.Errorf("%d are active", n)
		}
	})
}

// TestA33MaxActive: no more RPCs than that are held.
func TestA33MaxActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := injecting(FaultConfig{Delay: &FaultDelay{Share: match.All, Delay: time.Second}, MaxActive: 2}, 0)
		var held atomic.Int32
		start := time.Now()
		for range 5 {
			go func() {
				_, _, _ = begin(t.Context(), f)
				if time.Since(start) == time.Second {
					held.Add(1)
				}
			}()
		}
		synctest.Wait()
		time.Sleep(2 * time.Second)
		if n := held.Load(); n != 2 || f.active.Load() != 0 {
			t.Errorf("%d were held, %d are active", n, f.active.Load())
		}
	})
}

func TestA33Nothing(t *testing.T) {
	if in := (Fault{}).Client(Instance{Config: &FaultConfig{}}); in != nil {
		t.Error("a filter that does nothing")
	}
	abort := &FaultConfig{Abort: &FaultAbort{Share: match.All, Code: codes.NotFound}, MaxActive: 1}
	if in := (Fault{}).Client(Instance{Config: abort, Override: &FaultConfig{}}); in != nil {
		t.Error("the override is not heeded")
	}
	in := (Fault{}).Client(Instance{Config: &FaultConfig{}, Override: abort})
	if in == nil {
		t.Fatal("the override is not heeded")
	}
	if _, err := in.Begin(t.Context(), rpcconfig.RPC{}, nil); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
}

// TestA33DelayEndsWithTheChannel: an RPC is not delayed any longer when its channel is closed, which it finds out next.
func TestA33DelayEndsWithTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := injecting(FaultConfig{Delay: &FaultDelay{Share: match.All, Delay: time.Hour}, Abort: &FaultAbort{Share: match.All, Code: codes.NotFound}}, 0)
		f.memory = new(Memory)
		start := time.Now()
		time.AfterFunc(time.Second, f.memory.Close)
		if _, passed, err := begin(t.Context(), f); !passed || err != nil || time.Since(start) != time.Second {
			t.Error(passed, err, time.Since(start))
		}
	})
}
