// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// ordered are the packages whose files refer to each other in one direction only. Nothing is
// to go upward again.
var ordered = []string{
	"google.golang.org/grpc",
	"google.golang.org/grpc/internal/channel",
	"google.golang.org/grpc/internal/hedge",
	"google.golang.org/grpc/internal/retry",
	"google.golang.org/grpc/internal/rpcconfig",
	"google.golang.org/grpc/internal/telemetry",
	"google.golang.org/grpc/internal/transport",
	"google.golang.org/grpc/internal/transport/h2",
	"google.golang.org/grpc/internal/transport/h2/flow",
	"google.golang.org/grpc/internal/alarm",
	"google.golang.org/grpc/internal/warm",
}

func TestNoCircles(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command")
	}
	pkgs, exports, err := list(ordered)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pkgs {
		g, err := load(p, exports, false)
		if err != nil {
			t.Fatal(err)
		}
		r := g.measure()
		for _, c := range r.circles {
			t.Errorf("%s: a circle of %s", p.ImportPath, strings.Join(c, ", "))
		}
		if len(r.upward) != 0 {
			t.Errorf("%s: upward: %v", p.ImportPath, r.upward)
		}
	}
	if len(pkgs) != len(ordered) {
		t.Errorf("%d packages", len(pkgs))
	}
}

// A graph with one circle: a and b refer to each other, c to both, and d is below.
func TestMeasure(t *testing.T) {
	g := &graph{
		files: []string{"a", "b", "c", "d"},
		refs:  []map[int]bool{{1: true, 3: true}, {0: true, 3: true}, {0: true, 1: true}, {}},
	}
	r := g.measure()
	if r.arrows != 6 || len(r.upward) != 1 || len(r.circles) != 1 || strings.Join(r.circles[0], " ") != "a b" {
		t.Errorf("%+v", r)
	}
}
