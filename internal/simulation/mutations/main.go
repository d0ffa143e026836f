// SPDX-License-Identifier: Apache-2.0

// Command mutations puts faults into the code, one at a time, and says which of them the simulation
// finds, and which of them the package's own tests do. The faults are in mutations.txt.
//
//	make mutate ARGS="-for 20s -run windows"
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

func main() {
	list := flag.String("list", "internal/simulation/mutations/mutations.txt", "the faults")
	run := flag.String("run", "", "a regular expression: only these")
	tests := flag.Bool("tests", false, "run the ordinary tests of the package that has the fault, too")
	budget := flag.Duration("for", 15*time.Second, "how long the simulation looks for each")
	check := flag.Bool("check", false, "look only whether each fault can be put in")
	flag.Parse()
	if err := mutate(*list, *run, runner{budget: *budget, tests: *tests, checkOnly: *check}); err != nil {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1)
	}
}

func mutate(list, only string, r runner) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	all, err := parse(string(text))
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if r.dir, err = os.MkdirTemp("", "mutations"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	var t tally
	for _, m := range all {
		if pattern.MatchString(m.name) {
			t.add(m, r.try(m))
		}
	}
	t.print(r.tests)
	return nil
}

// verdict is what came of one fault.
type verdict struct {
	broken       error // it can't be put in, or does not build
	bySimulation bool
	byTests      bool
	how, what    string
}

type tally struct {
	tried, simulation, tests, broken int
	missed                           []string
}

func (t *tally) add(m mutation, v verdict) {
	if v.broken != nil {
		t.broken++
		fmt.Printf("%-70s cannot be put in: %v\n", m.name, v.broken)
		return
	}
	t.tried++
	if v.bySimulation {
		t.simulation++
	} else {
		t.missed = append(t.missed, m.name)
	}
	if v.byTests {
		t.tests++
	}
	fmt.Printf("%-70s %s %s\n", m.name, v.how, strings.TrimSpace(v.what))
}

func (t *tally) print(tests bool) {
	fmt.Printf("\n%d faults; the simulation finds %d", t.tried, t.simulation)
	if t.tried > 0 {
		fmt.Printf(" (%.0f %%)", 100*float64(t.simulation)/float64(t.tried))
	}
	if tests {
		fmt.Printf(", the packages' tests find %d", t.tests)
	}
	fmt.Println()
	for _, m := range t.missed {
		fmt.Println("missed:", m)
	}
}
