// SPDX-License-Identifier: Apache-2.0

// Command run builds the simulation once and runs it in several processes. There is one for each
// processor, because a history uses only one processor. If a history fails, it prints the history
// and exits with code 1.
//
//	make simulate ARGS="-for 20s -seed 7"
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	var o options
	flag.DurationVar(&o.length, "for", 20*time.Second, "how long it goes on")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64()>>24, "the first seed")
	flag.IntVar(&o.count, "histories", 0, "how many histories each process runs at most; 0: as many as there is time for")
	flag.IntVar(&o.processes, "processes", runtime.NumCPU(), "how many processes there are")
	flag.BoolVar(&o.race, "race", false, "with the race detector")
	flag.BoolVar(&o.show, "show", false, "print the history of the first seed")
	flag.BoolVar(&o.coverage, "coverage", false, "print how often each state and transition was reached")
	flag.DurationVar(&o.orders, "orders", 0, "how long to go through all orders of each small scene first")
	flag.Parse()
	ok, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulation:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

type options struct {
	length, orders time.Duration
	seed           uint64
	count          int
	processes      int
	race, show     bool
	coverage       bool
}

// stride is the distance between the first seeds of two processes.
const stride = 1 << 32

func run(o options) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "simulation")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "simulation.test")
	args := []string{"test", "-c", "-o", bin}
	if o.race {
		args = append(args, "-race")
	}
	if err := loudly("go", append(args, "./internal/simulation")...); err != nil {
		return false, err
	}
	if o.orders > 0 {
		if err := loudly(bin, "-test.v", "-test.run", "^TestOrders$", "-orders-for", o.orders.String()); err != nil {
			return false, err
		}
	}
	if o.show {
		o.processes = 1
	}
	outcomes := make([]outcome, o.processes)
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() { outcomes[i] = o.process(bin, dir, i) })
	}
	all.Wait()
	return o.report(outcomes), nil
}

func loudly(name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}

// outcome is what a process has printed, and how it ended.
type outcome struct {
	text string
	err  error
	now  string // the seed that was running when the process ended, if it ended early
}

func (o *options) process(bin, dir string, i int) (r outcome) {
	now := filepath.Join(dir, "now"+strconv.Itoa(i))
	ctx, cancel := context.WithTimeout(context.Background(), o.length+2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, bin, "-test.run", "^TestSimulation$", "-test.timeout", "0", "-coverage",
		"-seed", strconv.FormatUint(o.seed+uint64(i)*stride, 10), "-for", o.length.String(),
		"-histories", strconv.Itoa(o.count), "-show="+strconv.FormatBool(o.show), "-now", now)
	c.Env = append(os.Environ(), "GOGC=400") // histories are short, and hold little
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	r.err = c.Run()
	if ctx.Err() != nil {
		r.err = errors.New("a history has no end")
	}
	r.text = out.String()
	if text, err := os.ReadFile(now); err == nil {
		r.now = strings.TrimSpace(string(text))
	}
	return r
}

var (
	summary = regexp.MustCompile(`(?m)^(\d+) histories from seed \d+, \d+ failed, (\d+) calls, (\d+) steps, .* (\d+) a minute$`)
	counted = regexp.MustCompile(`(?m)^ +(\d+)  (\S.*)$`)
)

// report prints a summary, and reports whether all processes succeeded.
func (o *options) report(outcomes []outcome) (ok bool) {
	ok = true
	var sums [4]int
	points := map[string]int{}
	for _, r := range outcomes {
		if r.err != nil {
			ok = false
			fmt.Printf("%s\nat work was seed %s: %v\n", r.text, r.now, r.err)
			continue
		}
		if o.show {
			fmt.Println(r.text)
		}
		m := summary.FindStringSubmatch(r.text)
		for i := range sums {
			if m != nil {
				n, _ := strconv.Atoi(m[i+1])
				sums[i] += n
			}
		}
		for _, m := range counted.FindAllStringSubmatch(r.text, -1) {
			n, _ := strconv.Atoi(m[1])
			points[m[2]] += n
		}
	}
	reached, names := 0, []string{}
	for name, n := range points {
		if n > 0 {
			reached++
		} else {
			names = append(names, name)
		}
	}
	fmt.Printf("%d histories, %d calls, %d steps, %d a minute; %d of %d states and transitions were reached\n",
		sums[0], sums[1], sums[2], sums[3], reached, len(points))
	slices.Sort(names)
	if o.coverage {
		for _, name := range slices.Sorted(maps.Keys(points)) {
			fmt.Printf("%14d  %s\n", points[name], name)
		}
	}
	for _, name := range names {
		fmt.Println("  never:", name)
	}
	return ok
}
