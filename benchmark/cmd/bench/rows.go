// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/benchmark/internal/cloud"
	"google.golang.org/grpc/benchmark/internal/ops"
)

// row is one line of the result: what to do, over what.
type row struct {
	name  string
	link  ops.Link
	conns int
	load  ops.Load
	// want is the ratio this module aims at, 0 where there is none.
	want float64
	// floor is what the machine does without gRPC, measured beside; nil where it would
	// tell nothing.
	floor *row
	// delay each way between client and server.
	delay time.Duration
	// share of what the baseline does at most in another row, at which calls begin at a fixed
	// rate; nil where each caller waits for its answer.
	share *share
	quick bool // part of a quick look
	extra bool // measured only when it is asked for by name
}

// share is a part of what a row reaches.
type share struct {
	part float64
	of   *row
}

// rows are all there are, in the order in which they run.
func rows() []row {
	all := []row{
		unary(128, 64, 1, ops.TCP, ops.Insecure).wants(2).looks(),
		unary(128, 64, 1, ops.TCP, ops.TLS).wants(2).looks(),
		unary(128, 64, 1, ops.Unix, ops.Insecure).wants(2),
		unary(8<<10, 64, 1, ops.TCP, ops.Insecure).wants(2.2).looks(),
		unary(128, 256, 16, ops.TCP, ops.Insecure).wants(2).looks(),
		unary(128, 1, 1, ops.TCP, ops.Insecure).wants(1.25).looks(),
		unary(128, 1, 1, ops.TCP, ops.TLS),
		unary(128, 1, 1, ops.Unix, ops.Insecure),
		streams(ops.Chat, 1<<10, 64, ops.Insecure).wants(1.9).looks(),
		streams(ops.Chat, 1<<10, 1, ops.Insecure).wants(1.3).looks(),
		streams(ops.Pull, 1<<20, 1, ops.Insecure).wants(1.5).looks(),
		streams(ops.Pull, 1<<20, 1, ops.TLS).wants(1.5).looks(),
		streams(ops.Push, 1<<20, 1, ops.Insecure),
		unary(128, 64, 1, ops.TCP, ops.ALTS),
		streams(ops.Pull, 1<<20, 1, ops.ALTS).wants(2),
		withMetrics(unary(128, 64, 1, ops.TCP, ops.Insecure)).wants(1.5),
	}
	all = append(all, paced("rate/128B/%.0f%%/tcp", unary(128, 256, 1, ops.TCP, ops.Insecure), all[0])...)
	return append(all, extras()...)
}

// paced are rows in which the calls of r begin at shares of what the baseline does at most in
// the row most. They are named by the format, with the share in percent.
func paced(format string, r, most row) []row {
	var all []row
	for _, part := range []float64{0.5, 0.7, 0.9} {
		r.name = fmt.Sprintf(format, 100*part)
		r.share, r.floor = &share{part, &most}, nil
		all = append(all, r)
	}
	return all
}

// extras show how things scale, and what one kind of traffic does to another.
func extras() []row {
	var all []row
	for _, n := range []int{1, 10, 100, 1000} {
		r := streams(ops.Chat, 128, n, ops.Insecure)
		r.name = fmt.Sprintf("scale/chat/128B/streams=%d/tcp", n)
		all = append(all, r.asked())
	}
	for _, n := range []int{1, 16, 256, 2000} {
		r := unary(128, max(n, 64), n, ops.TCP, ops.Insecure)
		r.name = fmt.Sprintf("scale/unary/128B/conns=%d/tcp", n)
		all = append(all, r.asked())
	}
	for _, n := range []int{1, 2, 4, 16, 32, 64} {
		r := unary(n<<10, 64, 1, ops.TCP, ops.Insecure)
		r.name = "scale/" + r.name
		all = append(all, r.asked())
	}
	for _, bytes := range []int{64 << 10, 1 << 20, 16 << 20} {
		for _, kind := range []string{ops.Pull, ops.Push} {
			for _, security := range []string{ops.Insecure, ops.TLS} {
				r := streams(kind, bytes, 1, security)
				r.name = "scale/" + r.name
				all = append(all, r.asked())
			}
		}
		r := unary(bytes, 4, 1, ops.TCP, ops.Insecure)
		r.name = "scale/" + r.name
		all = append(all, r.asked())
	}
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		r := unary(128, n, 1, ops.TCP, ops.Insecure)
		r.name = fmt.Sprintf("scale/unary/128B/callers=%d/tcp", n)
		all = append(all, r.asked())
	}
	thousand := unary(128, 1000, 1000, ops.TCP, ops.Insecure)
	// At equal rates, what is allocated while a collection runs, which counts as alive, is equal too.
	sealed := unary(8<<10, 64, 1, ops.TCP, ops.TLS)
	many := unary(128, 256, 16, ops.TCP, ops.Insecure)
	for _, r := range slices.Concat(
		paced("scale/rate/128B/%.0f%%/conns=1000/tcp", thousand, thousand),
		paced("scale/rate/8KiB/%.0f%%/tls", sealed, sealed),
		paced("scale/rate/128B/%.0f%%/callers=256/conns=16/tcp", many, many),
	) {
		all = append(all, r.asked())
	}
	own := streams(ops.Pull, 1<<20, 1, ops.Insecure)
	own.name, own.extra, own.floor.load.Own = "own/"+own.name, true, true
	all = append(all, own)
	for _, r := range []row{
		unary(128, 64, 1, ops.TCP, ops.Insecure),
		unary(8<<10, 64, 1, ops.TCP, ops.Insecure),
		streams(ops.Chat, 1<<10, 64, ops.Insecure),
	} {
		all = append(all, beyondBare(r))
	}
	for _, beside := range []int{0, 16 << 20} {
		r := unary(128, 4, 1, ops.TCP, ops.Insecure)
		r.name = fmt.Sprintf("fair/unary/128B/beside=%s/tcp", size(beside))
		r.load.Beside = beside
		all = append(all, r.asked())
	}
	for _, r := range []row{
		unary(8<<10, 64, 1, ops.TCP, ops.Insecure),
		streams(ops.Pull, 1<<20, 1, ops.Insecure),
		streams(ops.Push, 1<<20, 1, ops.Insecure),
	} {
		r.name = "far/100ms/" + r.name
		r.delay = 50 * time.Millisecond
		all = append(all, r.asked())
	}
	for _, kind := range []string{ops.Embeds, ops.Meters, ops.Counts, ops.OwnTLS} {
		for _, callers := range []int{64, 1} {
			all = append(all, wrapped(kind, unary(128, callers, 1, ops.TCP, ops.Insecure)))
		}
	}
	return all
}

// beyondBare has as its floor the least that carries the same messages over the same connection,
// each in a call.
func beyondBare(r row) row {
	r.floor.load.Kind, r.floor.conns, r.floor.link.Protocol = ops.Unary, r.conns, ops.Bare
	r.name, r.floor.name, r.extra = "bare/"+r.name, "bare "+r.name, true
	return r
}

// wrapped puts something around the connections of a row. In the place of a floor it has
// this module over exact sockets.
func wrapped(kind string, r row) row {
	if kind == ops.OwnTLS {
		r.link.Security = ops.TLS
	}
	exact := r
	exact.name, exact.floor = "exact "+r.name, nil
	r.name, r.link.Wrap, r.floor, r.extra = "wrap/"+kind+"/"+r.name, kind, &exact, true
	return r
}

func unary(bytes, callers, conns int, network, security string) row {
	r := row{
		name:  fmt.Sprintf("unary/%s/callers=%d/%s", size(bytes), callers, over(network, security)),
		link:  ops.Link{Protocol: ops.GRPC, Network: network, Security: security},
		conns: conns,
		load:  ops.Load{Kind: ops.Unary, Callers: callers, Size: bytes},
	}
	if conns > 1 {
		r.name = fmt.Sprintf("unary/%s/callers=%d/conns=%d/%s", size(bytes), callers, conns, over(network, security))
	}
	return r.above(ops.PingPong)
}

func streams(kind string, bytes, callers int, security string) row {
	r := row{
		name:  fmt.Sprintf("%s/%s/streams=%d/%s", kind, size(bytes), callers, over(ops.TCP, security)),
		link:  ops.Link{Protocol: ops.GRPC, Network: ops.TCP, Security: security},
		conns: 1,
		load:  ops.Load{Kind: kind, Callers: callers, Size: bytes},
	}
	if kind == ops.Chat {
		return r.above(ops.PingPong)
	}
	r = r.above(ops.Stream)
	r.floor.load.Own = security != ops.Insecure
	return r
}

// above gives a row a floor that does the same without gRPC, with a connection for each
// caller.
func (r row) above(kind string) row {
	floor := r
	floor.load.Kind = kind
	floor.conns = r.load.Callers
	floor.link.Protocol = ops.Raw
	floor.name = "raw " + r.name
	floor.floor = nil
	r.floor = &floor
	return r
}

// withMetrics has a row's RPCs measured with OpenTelemetry. It has no floor: that of the row
// without is the same.
func withMetrics(r row) row {
	r.name, r.link.Metrics, r.floor = "otel/"+r.name, true, nil
	return r
}

func (r row) wants(ratio float64) row { r.want = ratio; return r }
func (r row) looks() row              { r.quick = true; return r }

// asked makes a row an extra. It has no floor: that would take longer than it tells.
func (r row) asked() row { r.extra, r.floor = true, nil; return r }

// choose picks rows whose name the pattern matches, extras if it matches from the start;
// without a pattern, the usual ones.
func choose(pattern string, quick bool) ([]row, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var chosen []row
	for _, r := range rows() {
		at := re.FindStringIndex(r.name)
		switch {
		case at == nil, r.extra && (pattern == "" || at[0] > 0):
		case pattern == "" && quick && !r.quick:
		default:
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no row matches %q; -list shows them", pattern)
	}
	return chosen, nil
}

// possible leaves out the rows that cannot be measured here, and says why.
func possible(w io.Writer, all []row) []row {
	reason := sync.OnceValue(cloud.Check)
	return slices.DeleteFunc(all, func(r row) bool {
		if r.link.Security != ops.ALTS || reason() == nil {
			return false
		}
		fmt.Fprintf(w, "%s is skipped: %v\n", r.name, reason())
		return true
	})
}

// over is how a row's name says what it runs over.
func over(network, security string) string {
	switch {
	case security == ops.Insecure:
		return network
	case network == ops.TCP:
		return security
	}
	return network + "+" + security
}

func size(bytes int) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", bytes>>20)
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", bytes>>10)
	default:
		return fmt.Sprintf("%dB", bytes)
	}
}
