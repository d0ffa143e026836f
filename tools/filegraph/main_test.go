// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"strings"
	"testing"
)

// tangled are the packages whose files still refer to each other in circles, with the arrows
// that go upward there. Files of all others refer downward only. No number may grow, and a
// package that has none is to leave the list.
var tangled = map[string]int{
	"google.golang.org/grpc":  1,
	"balancer/grpclb":         4,
	"internal/park":           5,
	"internal/readyreader":    3,
	"internal/tlsconn":        6,
	"internal/xds/client":     10,
	"internal/xds/dependency": 3,
	"internal/xds/server":     4,
	"interop/matrix":          3,
	"interop/polyglot":        9,
}

func TestNoCircles(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command")
	}
	const module = "google.golang.org/grpc"
	pkgs, exports, err := list([]string{"../../..."})
	if err != nil {
		t.Fatal(err)
	}
	var sum report
	for _, p := range pkgs {
		g, err := load(p, exports, false)
		if err != nil {
			t.Fatal(err)
		}
		r := g.measure()
		sum.add(r)
		most := tangled[strings.TrimPrefix(p.ImportPath, module+"/")]
		switch n := len(r.upward); {
		case n > most:
			t.Errorf("%s: %d arrows go upward, %d may: %v", p.ImportPath, n, most, r.upward)
			for _, c := range r.circles {
				t.Errorf("a circle of %s", strings.Join(c, ", "))
			}
		case n < most && runtime.GOOS == "linux": // other systems have other files
			t.Errorf("%s: %d arrows go upward now, not %d", p.ImportPath, n, most)
		}
	}
	t.Logf("%d arrows, %d of them upward", sum.arrows, len(sum.upward))
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
