// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// peersOptions are the flags of `bench peers`.
type peersOptions struct {
	peers, rows, idle, steps string
	gogc                     string
	heap                     uint
	pairs                    int
	seconds, warmup          float64
	linger                   time.Duration
}

// peerNames are all that can be measured beside this module, the published one with them.
func peerNames() []string {
	names := []string{workers.Published}
	for _, p := range workers.Peers() {
		names = append(names, p.Name)
	}
	return names
}

func parsePeers(args []string) (peersOptions, error) {
	var o peersOptions
	fs := flag.NewFlagSet("bench peers", flag.ContinueOnError)
	fs.StringVar(&o.peers, "peers", strings.Join(peerNames(), ","), "what to measure this module beside, separated by commas")
	fs.StringVar(&o.rows, "rows", "", "regular expression: measure the rows of calls that it matches; also the extra ones: ^scale")
	fs.StringVar(&o.gogc, "gogc", "", "GOGC of all that are written in Go")
	fs.UintVar(&o.heap, "heap", 0, heapHelp)
	fs.StringVar(&o.idle, "idle", "tcp,tls", "what idle connections are over: tcp, tls; none without")
	fs.StringVar(&o.steps, "n", "1000,3000", "numbers of idle connections, rising")
	fs.IntVar(&o.pairs, "pairs", 5, "measurements of each row and peer, in turn with this module's")
	fs.Float64Var(&o.seconds, "seconds", 2, "how long each lasts")
	fs.Float64Var(&o.warmup, "warmup", 0.5, "seconds of load before it")
	fs.DurationVar(&o.linger, "linger", 1500*time.Millisecond, "how long connections are left alone before memory is measured")
	return o, parseFlags(fs, args)
}

// rates are the options of the rates of one pair of implementations.
func (o peersOptions) rates() options {
	return options{pairs: o.pairs, seconds: o.seconds, warmup: o.warmup, gogc: o.gogc, heap: o.heap}
}

// peerRows are the rows that all peers have.
func peerRows() []row {
	var all []row
	for _, security := range []string{ops.Insecure, ops.TLS} {
		all = append(all,
			unary(128, 64, 1, ops.TCP, security),
			unary(128, 1, 1, ops.TCP, security),
			unary(8<<10, 64, 1, ops.TCP, security),
			streams(ops.Chat, 1<<10, 64, security),
			streams(ops.Pull, 1<<20, 1, security),
			streams(ops.Push, 1<<20, 1, security),
		)
	}
	for _, bytes := range []int{64 << 10, 16 << 20} {
		for _, security := range []string{ops.Insecure, ops.TLS} {
			for _, kind := range []string{ops.Pull, ops.Push} {
				r := streams(kind, bytes, 1, security)
				r.name = "scale/" + r.name
				all = append(all, r.asked())
			}
		}
	}
	for i := range all {
		all[i].floor, all[i].want = nil, 0
	}
	return all
}

// choosePeerRows picks among these as choose does; none may be left, for who wants idle connections
// alone.
func choosePeerRows(pattern string) ([]row, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(peerRows(), func(r row) bool {
		at := re.FindStringIndex(r.name)
		return at == nil || r.extra && (pattern == "" || at[0] > 0)
	}), nil
}
