// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// modules are the folders of the modules that `make test` tests and that have packages of several files.
var modules = []string{
	".", "attack", "benchmark", "benchmark/peers/connect", "benchmark/peers/kitex", "credentials/alts/interop",
	"examples/watchhub", "internal/xds/test", "parity",
}

// Files of a package refer to each other downward only, as packages do.
func TestNoCircles(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command")
	}
	for _, module := range modules {
		t.Run(module, func(t *testing.T) {
			pkgs, exports, err := list(filepath.Join("../..", module), []string{"./..."})
			if err != nil {
				t.Fatal(err)
			}
			var sum report
			for _, p := range pkgs {
				sum.add(downward(t, p, exports))
			}
			t.Logf("%d arrows, %d of them upward", sum.arrows, len(sum.upward))
		})
	}
}

// downward checks the files of one package.
func downward(t *testing.T, p listed, exports map[string]string) report {
	g, err := load(p, exports, false)
	if err != nil {
		t.Fatal(err)
	}
	r := g.measure()
	for _, c := range r.circles {
		t.Errorf("%s: a circle of %s; go run ./tools/filegraph -v says what ties it", p.ImportPath, strings.Join(c, ", "))
	}
	if len(r.upward) > 0 && len(r.circles) == 0 {
		t.Errorf("%s: arrows go upward without a circle: %v", p.ImportPath, r.upward)
	}
	return r
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
