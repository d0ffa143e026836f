// SPDX-License-Identifier: Apache-2.0

// Command mutations puts faults into the code, one at a time. It reports which of them the simulation
// finds, and which of them the ordinary tests of the package find. The faults are in mutations.txt.
//
//	make mutate ARGS="-for 20s -run windows"
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	list := flag.String("list", "internal/simulation/mutations/mutations.txt", "the faults")
	run := flag.String("run", "", "a regular expression: only these")
	tests := flag.String("tests", "", "run the ordinary tests of the package that has the fault, too: of all, or of those that the simulation has missed (\"all\", \"missed\")")
	budget := flag.Duration("for", 15*time.Second, "how long the simulation looks for each")
	check := flag.Bool("check", false, "look only whether each fault can be put in")
	beside := flag.Bool("crossing", false, "look with attack/cmd/crossing, beside the published module")
	flag.Parse()
	if err := mutate(*list, *run, runner{budget: *budget, tests: *tests, checkOnly: *check, crossing: *beside}); err != nil {
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
	all = slices.DeleteFunc(all, func(m mutation) bool { return !pattern.MatchString(m.name) })
	if err := fit(all); err != nil {
		return err // before the long run, which would otherwise leave out a part of the list
	}
	var t tally
	for _, m := range all {
		t.add(m, r.try(m))
	}
	if r.checkOnly {
		fmt.Printf("\n%d faults can be put in\n", t.tried)
	} else {
		t.print(r.tests)
	}
	if t.broken > 0 {
		return fmt.Errorf("%d faults do not build", t.broken)
	}
	return nil
}

// fit returns an error that names the faults that can't be put into the present code.
func fit(all []mutation) (errs error) {
	for _, m := range all {
		if _, _, err := m.apply(); err != nil {
			errs = errors.Join(errs, fmt.Errorf("%q has to be written anew: %w", m.name, err))
		}
	}
	return errs
}

// verdict says how one fault was found, if it was.
type verdict struct {
	broken       error // it can't be put in, or does not build
	bySimulation bool
	byTests      bool
	how, what    string
}

type tally struct {
	tried, simulation, tests, either, broken int
	missed                                   []string // the faults that the simulation has missed
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
	if v.byTests || v.bySimulation {
		t.either++
	}
	fmt.Printf("%-70s %s %s\n", m.name, v.how, strings.TrimSpace(v.what))
}

func (t *tally) print(tests string) {
	fmt.Printf("\n%d faults; the simulation finds %s", t.tried, t.share(t.simulation))
	switch tests {
	case "all":
		fmt.Printf(", the packages' tests %s, either of them %s", t.share(t.tests), t.share(t.either))
	case "missed":
		fmt.Printf(", that or the packages' tests %s", t.share(t.either))
	}
	fmt.Println()
	for _, m := range t.missed {
		fmt.Println("missed by the simulation:", m)
	}
}

func (t *tally) share(n int) string {
	if t.tried == 0 {
		return "none"
	}
	return fmt.Sprintf("%d (%.0f %%)", n, 100*float64(n)/float64(t.tried))
}
