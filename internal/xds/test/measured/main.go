// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Command measured is a client that is built with this module and with the published one, and
// that command bench tells what to do: a line of its input is a command, and it answers each with
// a line of JSON. The bootstrap configuration comes from the environment.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	_ "google.golang.org/grpc/xds"
)

// answer has what a command was to find out.
type answer struct {
	RSS        int64   // bytes
	Heap       uint64  // bytes
	Goroutines int     //
	CPU        float64 // seconds so far
	Nanos      float64 // of a pick
	Allocs     float64 // of a pick
	Error      string
}

type client struct {
	channels []*grpc.ClientConn
	load     chan struct{} // closed to end it; nil while there is none
}

func main() {
	if os.Getenv("MEASURED_PROFILE") != "" {
		runtime.MemProfileRate = 512
	}
	balancer.Register(&spy{Builder: balancer.Get(manager), ConfigParser: balancer.Get(manager).(balancer.ConfigParser)})
	c := &client{}
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		a, err := c.do(strings.Fields(in.Text()))
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			log.Fatal(err)
		}
	}
}

// work makes calls until stop is closed.
func work(cc *grpc.ClientConn, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			_ = call(cc, 0)
		}
	}
}

func (c *client) do(command []string) (a answer, err error) {
	switch command[0] {
	case "channels": // makes so many
		n, err := strconv.Atoi(command[1])
		for range n {
			cc, err := grpc.NewClient("xds:///shop", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithIdleTimeout(0))
			if err != nil {
				return a, err
			}
			c.channels = append(c.channels, cc)
		}
		return a, err
	case "calls": // makes so many to each cluster on each channel
		n, err := strconv.Atoi(command[1])
		if err != nil {
			return a, err
		}
		for _, cc := range c.channels {
			for cluster := range 10 {
				for range n {
					if err := call(cc, cluster); err != nil {
						return a, err
					}
				}
			}
		}
	case "memory":
		rest()
		for range 3 {
			runtime.GC()
		}
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		a.Heap, a.Goroutines = m.HeapAlloc, runtime.NumGoroutine()
		a.RSS, err = rss()
	case "load": // makes calls until "rest"
		c.load = make(chan struct{})
		go work(c.channels[0], c.load)
	case "rest":
		close(c.load)
	case "cpu":
		var u syscall.Rusage
		err = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		a.CPU = time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	case "pick":
		p := last.Load()
		if p == nil || p.info.Load() == nil {
			return a, fmt.Errorf("there is no picker")
		}
		info := *p.info.Load()
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r, err := p.Picker.Pick(info); err == nil && r.Done != nil {
					r.Done(balancer.DoneInfo{BytesSent: true})
				}
			}
		})
		a.Nanos, a.Allocs = float64(r.T.Nanoseconds())/float64(r.N), float64(r.MemAllocs)/float64(r.N)
	case "profile", "profiled", "heap":
		err = profile(command)
	default:
		err = fmt.Errorf("no command %q", command[0])
	}
	return a, err
}

// rest returns when goroutines have stopped ending: some wait a while for more to do.
func rest() {
	for n, end := runtime.NumGoroutine(), time.Now().Add(10*time.Second); time.Now().Before(end); {
		time.Sleep(2 * time.Second)
		now := runtime.NumGoroutine()
		if now >= n {
			return
		}
		n = now
	}
}

// profile writes a profile into the file that the command names: of the CPU, from "profile" to
// "profiled", or of the heap.
func profile(command []string) error {
	if command[0] == "profiled" {
		pprof.StopCPUProfile()
		return nil
	}
	f, err := os.Create(command[1])
	if err != nil {
		return err
	}
	if command[0] == "profile" {
		return pprof.StartCPUProfile(f)
	}
	runtime.GC()
	if err := pprof.WriteHeapProfile(f); err != nil {
		return err
	}
	return f.Close()
}

func call(cc *grpc.ClientConn, cluster int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "cluster", strconv.Itoa(cluster))
	_, err := testpb.NewTestServiceClient(cc).EmptyCall(ctx, &testpb.Empty{}, grpc.WaitForReady(true))
	return err
}

func rss() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// manager is the policy whose picker is the channel's.
const manager = "xds_cluster_manager_experimental"

// spy stands around that policy, and knows its picker.
type spy struct {
	balancer.Builder
	balancer.ConfigParser
}

var last atomic.Pointer[picker]

// Build implements balancer.Builder.
func (s *spy) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return s.Builder.Build(&spied{cc}, opts)
}

type spied struct{ balancer.ClientConn }

// UpdateState implements balancer.ClientConn.
func (s *spied) UpdateState(state balancer.State) {
	p := &picker{Picker: state.Picker}
	if before := last.Load(); before != nil {
		p.info.Store(before.info.Load())
	}
	last.Store(p)
	state.Picker = p
	s.ClientConn.UpdateState(state)
}

// picker remembers an RPC that it was asked for.
type picker struct {
	balancer.Picker
	info atomic.Pointer[balancer.PickInfo]
}

// Pick implements balancer.Picker.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	if p.info.Load() == nil {
		p.info.Store(&info)
	}
	return p.Picker.Pick(info)
}
