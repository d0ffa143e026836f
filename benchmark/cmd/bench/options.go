// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"time"

	"google.golang.org/grpc/benchmark/internal/workers"
)

// options are the flags of the rates.
type options struct {
	impls   string
	rows    string
	pairs   int
	seconds float64
	warmup  float64
	gogc    string
	heap    uint
	quick   bool
	list    bool
	prof    profiling
}

const heapHelp = "MiB of objects that clients and servers keep, all that are written in Go, beside what the calls take"

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&o.impls, "impls", workers.Ours+","+workers.Published, implsHelp)
	fs.StringVar(&o.rows, "rows", "", "regular expression: measure the rows it matches")
	fs.IntVar(&o.pairs, "pairs", 5, "measurements of each row and implementation, in turn")
	fs.Float64Var(&o.seconds, "seconds", 2, "how long each lasts")
	fs.Float64Var(&o.warmup, "warmup", 0.5, "seconds of load before it")
	fs.StringVar(&o.gogc, "gogc", "", "GOGC of clients and servers, all of them, as processes with a heap of their own have it")
	fs.UintVar(&o.heap, "heap", 0, heapHelp)
	fs.BoolVar(&o.quick, "quick", false, "a look of about a minute: fewer rows, short measurements")
	fs.BoolVar(&o.list, "list", false, "print the rows and end")
	fs.StringVar(&o.prof.cpu, "cpuprofile", "", "folder for CPU profiles of clients and servers")
	fs.StringVar(&o.prof.allocs, "allocprofile", "", "folder for allocation profiles; they cost speed")
	if err := parseFlags(fs, args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.quick {
		for name, set := range map[string]func(){
			"pairs":   func() { o.pairs = 3 },
			"seconds": func() { o.seconds = 0.5 },
			"warmup":  func() { o.warmup = 0.2 },
		} {
			if !given[name] {
				set()
			}
		}
	}
	for _, dir := range []string{o.prof.cpu, o.prof.allocs} {
		if dir != "" {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

func (o options) timing() timing {
	return timing{warmup: seconds(o.warmup), window: seconds(o.seconds), gogc: o.gogc, heap: o.heap}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
