// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/internal/mem"
)

var (
	runFor   = flag.Duration("for", time.Second, "how long TestSimulation goes on")
	runSeed  = flag.Uint64("seed", 0, "the first seed; 0: any")
	runCount = flag.Int("histories", 0, "how many histories there are at most; 0: as many as there is time for")
	runShow  = flag.Bool("show", false, "print the history of the first seed, whether it fails or not")
	runNow   = flag.String("now", "", "a file that has the seed that is at work")
	runAll   = flag.Bool("all", false, "go on after a failure")
	coverTo  = flag.Bool("coverage", false, "print which points were reached")
)

// TestSimulation runs histories of one seed after the other.
func TestSimulation(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	seed := *runSeed
	if seed == 0 {
		seed = rand.Uint64() >> 20
	}
	var now *os.File
	if *runNow != "" {
		f, err := os.Create(*runNow)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		now = f
	}
	var points coverage
	first, begin, steps, calls, failed := seed, time.Now(), 0, 0, 0
	for n := 0; (*runCount == 0 || n < *runCount) && time.Since(begin) < *runFor; n++ {
		if now != nil {
			_, _ = now.WriteAt(fmt.Appendf(nil, "%-20d\n", seed), 0)
		}
		r := replay(t, seeded(seed), &points, *runShow && seed == first)
		if *runShow && seed == first {
			fmt.Println(strings.Join(r.history, "\n"))
		}
		steps += r.steps
		calls += r.calls
		if r.failure != "" {
			failed++
			t.Errorf("seed %d: %s\n%s", seed, r.failure, explain(t, r))
			if !*runAll {
				break
			}
		}
		seed++
	}
	took := time.Since(begin)
	n := seed - first
	fmt.Printf("%d histories from seed %d, %d failed, %d calls, %d steps, %v, %.0f a minute\n",
		n, first, failed, calls, steps, took.Round(time.Millisecond), float64(n)/took.Minutes())
	if *coverTo && failed == 0 {
		fmt.Print(points.String())
	}
}

// TestCorpus runs again all that has ever failed: a file of testdata/corpus has the seed, or the
// choices, of one history. What it says behind # is for people.
func TestCorpus(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	files, err := filepath.Glob("testdata/corpus/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			if fields := strings.Fields(line); len(fields) > 0 {
				var points coverage
				if r := replay(t, recorded(t, fields), &points, false); r.failure != "" {
					t.Errorf("%s: %s: %s", file, line, explain(t, r))
				}
			}
		}
	}
}

// recorded is the chooser of a line of the corpus: "seed N", or "choices N N ...".
func recorded(t *testing.T, fields []string) *chooser {
	var numbers []uint64
	for _, f := range fields[1:] {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	if fields[0] == "seed" {
		return seeded(numbers[0])
	}
	choices := make([]uint32, len(numbers))
	for i, n := range numbers {
		choices[i] = uint32(n)
	}
	return scripted(choices)
}

// A seed does the same each time.
func TestSeedsRepeat(t *testing.T) {
	if mem.Checking {
		t.Skip("the race detector has goroutines run in any order")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	differ := 0
	const seeds = 200
	for seed := range uint64(seeds) {
		var points coverage
		a, b := replay(t, seeded(seed), &points, false), replay(t, seeded(seed), &points, false)
		if a.equal(b) {
			continue
		}
		// The runtime may have taken the processor from a goroutine in the middle of a step, which
		// other programs make more frequent: then two of three are the same.
		if c := replay(t, seeded(seed), &points, false); !c.equal(a) && !c.equal(b) {
			differ++
		}
	}
	if differ > seeds/20 {
		t.Errorf("%d of %d seeds did something else the second time", differ, seeds)
	}
	t.Logf("%d of %d seeds did something else the second time", differ, seeds)
}

// equal reports whether the same has happened.
func (r result) equal(other result) bool {
	return r.sum == other.sum && r.steps == other.steps && slices.Equal(r.choices, other.choices)
}

// explain shrinks a history that failed, and prints it.
func explain(t *testing.T, r result) string {
	var points coverage
	short := shrink(t, r)
	again := replay(t, scripted(short), &points, true)
	if again.failure == "" {
		return fmt.Sprintf("with %v; it does not fail again: the order of goroutines within a step is the runtime's", r.swarm)
	}
	return fmt.Sprintf("shrunk to: %s\n%s\nchoices: %v", again.failure, strings.Join(again.history, "\n"), short)
}
