// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

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

// TestLoad draws the graph of this package.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command")
	}
	pkgs, exports, err := list(".", []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	g, err := load(pkgs[0], exports, false)
	if err != nil {
		t.Fatal(err)
	}
	if r := g.measure(); r.files != 3 || r.arrows != 1 {
		t.Errorf("%d files, %d arrows; only main.go refers to another, walk.go: want 3 and 1", r.files, r.arrows)
	}
}
