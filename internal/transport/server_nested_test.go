// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/pulse"
)

// Each handler of a chain makes a call on a connection that is parked, and whose answer is read by
// goroutines that such handlers run on. It spoils what it has of its request, labels its goroutine and has
// faults of memory panic there, and now and then panics or ends that.
func TestNestedCallsOverParkedConnections(t *testing.T) {
	needsParking(t)
	for _, procs := range []int{1, 4} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) { testNestedCalls(t, procs) })
	}
}

func testNestedCalls(t *testing.T, procs int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	const depth, rounds = 40, 12
	var all []*Client
	call := func(left int) error {
		p := payload([]byte("x"))
		st, err := all[left].NewStream(context.Background(), &Call{
			Method: "/test.Nested/" + strconv.Itoa(left), MaxRecvMsgSize: 1 << 20, Auth: []string{"token", "t", "token", "u"},
		}, &p, true)
		if err != nil {
			return err
		}
		st.AwaitEnd()
		return take(st)
	}
	const label = "of a nested call"
	var began, thick atomic.Int32
	s := startServer(t, "unix", ServerConfig{}, func(s *ServerStream) {
		defer func() { _ = recover() }()
		for range 4 { // as if there were many
			pulse.Event()
		}
		if began.Add(1); pulse.On() {
			thick.Add(1)
		}
		left, _ := strconv.Atoi(s.Method()[len("/test.Nested/"):])
		md := s.IncomingHeader()
		if !slices.Equal(md["token"], []string{"t", "u"}) || len(md["spoilt"]) > 0 {
			t.Errorf("a request with %v", md)
		}
		md["token"] = append(md["token"][:1], "spoilt")
		md["token"][0], md["spoilt"] = "spoilt", md["token"]
		values := s.asContext().Values("token")
		if !slices.Equal(values, []string{"t", "u"}) {
			t.Errorf("values %v", values)
		}
		values[0], values[1] = "spoilt", "spoilt"
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("label", label)))
		if debug.SetPanicOnFault(true) {
			t.Error("a handler before has said what becomes of faults of memory")
		}
		if left > 0 {
			if err := call(left - 1); err != nil {
				t.Error(left, err)
			}
		}
		echoUnary(s)
		switch left % 7 {
		case 3:
			panic("recovered")
		case 5:
			runtime.Goexit()
		}
	})
	all = s.dialMany(depth)
	for range rounds {
		var wg sync.WaitGroup
		for from := range 3 {
			wg.Go(func() {
				if err := call(depth - 1 - from); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		waitFor(t, "all to park", func() bool { return park.ReadStats().Parked == 2*depth })
		waitFor(t, "labels to go", func() bool {
			var b bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
			return !strings.Contains(b.String(), label)
		})
	}
	t.Logf("events were thick in %d of %d calls", thick.Load(), began.Load())
}
