// SPDX-License-Identifier: Apache-2.0

// Package peer is one side of a hunt: servers, or clients of those of another process. It is built on each
// implementation, and sees its public API alone.
package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc/attack/internal/traffic"
)

// Places are where servers are: by the name of a link two addresses. Sockets of the second are cut.
type Places map[string][2]string

// Order is what a peer is to do. It is the first line of its input; the end of the input ends it.
type Order struct {
	// Serve has it serve these links; it answers with Places.
	Serve []string
	Dir   string // for unix sockets

	// Call has it be clients of Call's servers, and answer with a Report when that has ended.
	Call     Places
	Strange  []string // addresses of servers that answer what they like
	Workers  int      // for each address
	Calls    int64    // how many it makes, about
	Patience time.Duration
}

// Report is what clients did and found.
type Report struct {
	Calls, Failed, Streams, Cuts, Strange int64
	Faults                                []string
}

// StacksPlease is a line of the input that has a peer print what its goroutines are doing.
const StacksPlease = "stacks"

// Hangs is a line of the output: a call takes very long.
const Hangs = `"hangs"`

// Run is the program.
func Run(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return lines.Err()
	}
	var o Order
	if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tally := &traffic.Tally{OnHang: func() { fmt.Fprintln(out, Hangs) }}
	go func() {
		defer cancel()
		for lines.Scan() {
			if lines.Text() == StacksPlease {
				tally.Stacks()
			}
		}
	}()
	go churn(ctx)
	if len(o.Serve) > 0 {
		return serve(ctx, o, out)
	}
	return json.NewEncoder(out).Encode(call(ctx, o, tally))
}

// serve serves two addresses of each link until ctx ends.
func serve(ctx context.Context, o Order, out io.Writer) error {
	places, cut := Places{}, new(traffic.Sockets)
	for _, name := range o.Serve {
		l, err := traffic.NewLink(name, "")
		if err != nil {
			return err
		}
		var two [2]string
		for i, s := range []*traffic.Sockets{nil, cut} {
			dir := fmt.Sprintf("%s/%s%d", o.Dir, name, i)
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			stop, addr, err := l.Serve(dir, s)
			if err != nil {
				return err
			}
			defer stop()
			two[i] = addr
		}
		places[name] = two
	}
	if err := json.NewEncoder(out).Encode(places); err != nil {
		return err
	}
	cut.Run(ctx)
	return nil
}
