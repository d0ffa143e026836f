// SPDX-License-Identifier: Apache-2.0

// Command idle measures what idle connections cost where programs wrap them: in etcd with
// listeners of its own, and in servers behind wrappers that many use.
//
//	go -C thirdparty/etcd run ./idle [-n connections] [-run pattern]
//
// Each row is a server in a process of its own; the clients are in this one. After a call on
// each, and three seconds of quiet, the server says its resident memory and its goroutines; the
// row has the difference between few connections and all, for each. The row "client" is the
// other way about.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	first  = 200             // connections before the first sample
	quiet  = 3 * time.Second // before each sample
	bounds = 4 * time.Minute // of a row
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		if os.Getenv(heapFolder) != "" {
			runtime.MemProfileRate = 1 << 10
		}
		if err := serve(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "idle:", err)
			os.Exit(1)
		}
		return
	}
	n := flag.Int("n", 5000, "how many `connections`")
	only := flag.String("run", "", "only rows that match the `pattern`")
	heap := flag.String("heap", "", "a `folder` for profiles of what lives, at the end, in the heap of what each row measures")
	flag.Parse()
	pattern := regexp.MustCompile(*only)
	if *heap != "" {
		os.Setenv(heapFolder, *heap)
		runtime.MemProfileRate = 1 << 10
	}
	fmt.Printf("%-28s %14s %22s\n", "row", "KB/connection", "goroutines/connection")
	for _, r := range rows {
		if !pattern.MatchString(r.name) {
			continue
		}
		kb, goroutines, err := measure(r, *n)
		if err != nil {
			fmt.Fprintf(os.Stderr, "idle: %s: %v\n", r.name, err)
			os.Exit(1)
		}
		fmt.Printf("%-28s %14.2f %22.2f\n", r.name, kb, goroutines)
	}
}

// child is a server in another process.
type child struct {
	cmd  *exec.Cmd
	out  *bufio.Scanner
	ask  interface{ Write([]byte) (int, error) }
	addr string
}

func start(ctx context.Context, row string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, os.Args[0], "serve", row)}
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.ask, c.out = in, bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if !c.out.Scan() {
		return nil, fmt.Errorf("the server does not start: %w", c.cmd.Wait())
	}
	c.addr = c.out.Text()
	return c, nil
}

// sample is a process at a moment.
type sample struct{ rss, goroutines float64 }

func (c *child) sample() (s sample, err error) {
	fmt.Fprintln(c.ask, "sample")
	if !c.out.Scan() {
		return s, fmt.Errorf("the server is gone")
	}
	_, err = fmt.Sscan(c.out.Text(), &s.rss, &s.goroutines)
	return s, err
}

func self() sample {
	for range 4 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	var size, rss int
	b, _ := os.ReadFile("/proc/self/statm")
	_, _ = fmt.Sscan(string(b), &size, &rss)
	return sample{float64(rss * os.Getpagesize()), float64(runtime.NumGoroutine())}
}

func measure(r row, n int) (kb, goroutines float64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), bounds)
	defer cancel()
	c, err := start(ctx, r.name)
	if err != nil {
		return 0, 0, err
	}
	defer func() { cancel(); _ = c.cmd.Wait() }()
	look := c.sample
	if r.client {
		look = func() (sample, error) { return self(), saveHeap(r.name) }
	}
	var conns []*grpc.ClientConn
	defer func() {
		for _, cc := range conns {
			cc.Close()
		}
	}()
	var samples []sample
	for _, upTo := range []int{first, n} {
		more, err := r.connect(ctx, c.addr, upTo-len(conns))
		conns = append(conns, more...)
		if err != nil {
			return 0, 0, err
		}
		time.Sleep(quiet)
		s, err := look()
		if err != nil {
			return 0, 0, err
		}
		samples = append(samples, s)
	}
	d := float64(n - first)
	return (samples[1].rss - samples[0].rss) / d / 1000, (samples[1].goroutines - samples[0].goroutines) / d, nil
}

// connect makes connections, and a call on each.
func (r row) connect(ctx context.Context, addr string, n int) ([]*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if r.secure {
		creds = trusting()
	}
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil && r.dialed != nil {
			c = r.dialed(c)
		}
		return c, err
	}
	conns := make([]*grpc.ClientConn, n)
	errs := make(chan error, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range conns {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			cc, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(creds), grpc.WithContextDialer(dial), grpc.WithIdleTimeout(0))
			if err != nil {
				errs <- err
				return
			}
			conns[i] = cc
			if _, err := healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return nil, err
	default:
		return conns, nil
	}
}

// serve runs a row's server, tells its address, and answers questions until there are no more.
func serve(name string) error {
	for _, r := range rows {
		if r.name != name {
			continue
		}
		addr, err := r.serve()
		if err != nil {
			return err
		}
		fmt.Println(addr)
		for in := bufio.NewScanner(os.Stdin); in.Scan() && strings.TrimSpace(in.Text()) != ""; {
			s := self()
			if err := saveHeap(name); err != nil {
				return err
			}
			fmt.Println(s.rss, s.goroutines)
		}
		return nil
	}
	return fmt.Errorf("no row %q", name)
}

// heapFolder is the variable that tells a server where to put profiles of its heap.
const heapFolder = "IDLE_HEAP_FOLDER"

// saveHeap writes what lives in the heap, if that is wanted. The last sample's stays.
func saveHeap(row string) error {
	dir := os.Getenv(heapFolder)
	if dir == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(dir, strings.ReplaceAll(row, ", ", "-")+".heap"))
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}
