// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// runner tries faults.
type runner struct {
	dir       string // the folder for what it builds
	budget    time.Duration
	tests     string // the value of the flag -tests
	checkOnly bool
	crossing  bool
}

// explored are the packages with tests of their own that try all orders of events. What these tests
// find counts as found by the simulation.
var explored = []string{"./internal/park", "./internal/handover", "./internal/warm"}

// try puts a fault into the code and runs the simulation and the tests with it.
func (r *runner) try(m mutation) (v verdict) {
	file, changed, err := m.apply()
	if err != nil {
		return verdict{broken: err}
	}
	overlay, err := r.overlay(file, changed)
	if err != nil {
		return verdict{broken: err}
	}
	pkg := "./" + filepath.Dir(file)
	if r.checkOnly {
		out, err := r.command(5*time.Minute, "go", "build", "-overlay", overlay, pkg)
		if err != nil {
			return verdict{broken: fmt.Errorf("it does not build: %s", out)}
		}
		return verdict{how: "can be put in"}
	}
	if r.crossing {
		return r.cross(overlay)
	}
	v = r.simulate(overlay)
	for _, e := range explored {
		if e == pkg && !v.bySimulation {
			out, err := r.command(2*time.Minute, "go", "test", "-count=1", "-overlay", overlay, "-run", "Orders", pkg)
			v.bySimulation, v.how, v.what = err != nil, how(err != nil, "explorer"), reason(out)
		}
	}
	if v.broken == nil && (r.tests == "all" || r.tests == "missed" && !v.bySimulation) {
		args := []string{"test", "-count=1", "-timeout", "3m", "-overlay", overlay}
		_, err := r.command(6*time.Minute, "go", append(args, testsOf(pkg)...)...)
		v.byTests = err != nil
		v.how += ", " + how(v.byTests, "tests")
	}
	return v
}

// testsOf returns the packages with the tests of a package. Those of h2/protocol are also in h2.
func testsOf(pkg string) []string {
	if core, ok := strings.CutSuffix(pkg, "/protocol"); ok {
		return []string{pkg, core}
	}
	return []string{pkg}
}

func how(found bool, by string) string {
	if found {
		return by + ": found"
	}
	return by + ": MISSED"
}

func (r *runner) overlay(file, changed string) (string, error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	put := filepath.Join(r.dir, "changed.go")
	if err := os.WriteFile(put, []byte(changed), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {full: put}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(r.dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// simulate runs the simulation until it fails or its time is over. A panic, and a history that
// does not end, also count as failures.
func (r *runner) simulate(overlay string) (v verdict) {
	bin := filepath.Join(r.dir, "simulation.test")
	if out, err := r.command(5*time.Minute, "go", "test", "-c", "-ldflags", "-s -w", "-overlay", overlay, "-o", bin, "./internal/simulation"); err != nil {
		return verdict{broken: fmt.Errorf("it does not build: %s", out)}
	}
	begin := time.Now()
	out, err := r.command(r.budget+15*time.Second, bin, "-test.run", "^TestSimulation$", "-seed", "1", "-for", r.budget.String())
	v.bySimulation = err != nil
	v.how = how(v.bySimulation, "simulation")
	if v.bySimulation {
		v.how += fmt.Sprintf(" in %v", time.Since(begin).Round(100*time.Millisecond))
		v.what = reason(out)
	}
	return v
}

// cross does it beside the published module.
func (r *runner) cross(overlay string) (v verdict) {
	out, err := r.command(5*time.Minute, "go", "-C", "attack", "test", "-c", "-overlay", overlay, "-o", filepath.Join(r.dir, "side"), "./internal/side")
	if err != nil {
		return verdict{broken: fmt.Errorf("it does not build: %s", out)}
	}
	begin := time.Now()
	out, err = r.command(r.budget+5*time.Minute, "env", "GOFLAGS=-overlay="+overlay, "go", "-C", "attack", "run", "./cmd/crossing",
		"-seed", "1", "-for", r.budget.String(), "-workers", "3", "-pairs", "ours-published,published-ours,ours-ours")
	v.bySimulation = err != nil
	v.how = how(v.bySimulation, "crossing")
	if v.bySimulation {
		v.how += fmt.Sprintf(" in %v", time.Since(begin).Round(100*time.Millisecond))
		v.what = reason(out)
	}
	return v
}

var tells = regexp.MustCompile(`(seed \d+: .*|^panic: .*|\npanic: .*|fatal error: .*|leakcheck: .*)`)

// reason returns the most telling line of an output.
func reason(out string) string { return tells.FindString(out) }

// command runs a program, and ends it after limit. It returns the first part of the output.
func (r *runner) command(limit time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.WaitDelay = 5 * time.Second
	out, err := c.CombinedOutput()
	text := string(out)
	if len(text) > 8000 {
		text = text[:8000]
	}
	if ctx.Err() != nil {
		text += "\nfatal error: no end"
	}
	return strings.TrimSpace(text), err
}
