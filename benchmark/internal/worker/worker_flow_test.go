// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/workers"
	"google.golang.org/grpc/internal/farpath"
)

const flowTime = time.Second // the two processes of a pair do not begin together

// flows are one of each kind.
var flows = map[string]ops.Flow{
	"down":    {Kind: ops.Pull, Size: 16 << 10, For: flowTime},
	"up":      {Kind: ops.Push, Size: 16 << 10, For: flowTime},
	"calls":   {Kind: ops.Unary, Size: 64 << 10, Calls: 3, Pause: time.Millisecond},
	"callers": {Kind: ops.Unary, Size: 128, Callers: 4, For: flowTime},
	"beside":  {Kind: ops.Unary, Size: 128, Callers: 2, Beside: 16 << 10, For: flowTime},
}

// flowOver makes a load, and returns what came of it, with what the server saw.
func flowOver(t *testing.T, pair *workers.Pair, f ops.Flow) (ops.Flowed, []ops.Point) {
	t.Helper()
	conns := max(f.Callers, 1)
	if f.Beside > 0 {
		conns++
	}
	if _, err := pair.Open(ops.Open{Connections: conns, Connect: true}, nil); err != nil {
		t.Fatal(err)
	}
	tracked := make(chan []ops.Point, 1)
	go func() {
		got, err := control.Call[ops.Tracked](pair.Server, ops.OpTrack, ops.Track{For: flowTime}, nil)
		if err != nil {
			t.Error(err)
		}
		tracked <- got.Points
	}()
	flowed, err := control.Call[ops.Flowed](pair.Client, ops.OpFlow, f, nil)
	points := <-tracked
	if err != nil {
		t.Fatal(err)
	}
	return flowed, points
}

// checkFlow checks that all that was asked for was done, and took its time.
func checkFlow(t *testing.T, f ops.Flow, flowed ops.Flowed, server []ops.Point, roundTrip time.Duration) {
	t.Helper()
	points := flowed.Points
	if f.Kind == ops.Push {
		points = server
	}
	if n := len(points); f.Kind != ops.Unary || f.Beside > 0 {
		if n < 2 || points[n-1].Count == points[0].Count {
			t.Errorf("%d points, and no message came", n)
		}
	}
	if len(flowed.Took) != f.Calls {
		t.Errorf("%d calls, want %d", len(flowed.Took), f.Calls)
	}
	for _, took := range flowed.Took {
		if took < roundTrip {
			t.Errorf("a call took %v, less than a round trip", took)
		}
	}
	if (flowed.Latency.Count > 0) != (f.Callers > 0) || flowed.Latency.Count > 0 && flowed.Latency.P50 < roundTrip {
		t.Errorf("callers saw %+v", flowed.Latency)
	}
}

func TestFlow(t *testing.T) {
	for name, f := range flows {
		for _, protocol := range []string{ops.GRPC, ops.Raw} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				order := ops.Serve{Link: links["tcp"]}
				order.Protocol = protocol
				flowed, server := flowOver(t, startPair(t, order), f)
				checkFlow(t, f, flowed, server, 0)
			})
		}
	}
}

func TestFlowOverAFarPath(t *testing.T) {
	if err := farpath.Available(); err != nil {
		t.Skip(err)
	}
	const roundTrip = 10 * time.Millisecond
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range flows {
		t.Run(name, func(t *testing.T) {
			path, err := farpath.New(farpath.Shape{RoundTrip: roundTrip, Rate: 20e6, Loss: 0.001}, "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(path.Close)
			impl := workers.Impl{Name: "test", Path: self, Env: []string{"WORKER_TEST_WORKER=1", "GORACE=atexit_sleep_ms=0"}}
			order := ops.Serve{Link: links["tcp"], Host: path.Far().Addr().String()}
			at := workers.Starts{Server: path.Far().Start, Client: path.Near().Start}
			pair, err := workers.StartPairAt(context.Background(), impl, order, at)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := pair.Close(); err != nil {
					t.Error(err)
				}
			}()
			flowed, server := flowOver(t, pair, f)
			checkFlow(t, f, flowed, server, roundTrip-time.Millisecond)
			if there, back := path.Counts(); there.Bytes == 0 || back.Bytes == 0 {
				t.Errorf("the path carried %+v and %+v", there, back)
			}
		})
	}
}
