// SPDX-License-Identifier: Apache-2.0

// Command suites runs tests of projects that use gRPC, as their authors wrote them, against
// this module.
//
//	go run ./thirdparty/suites [-run name] [-long] [-race] [-published] [-v]
//
// Modules are fetched at pinned versions from the module proxy and copied to a temporary
// folder, where a replacement makes them use this module. Failures that are in
// thirdparty/known.txt are counted apart; any other lets the command exit with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// limit bounds a suite with all that has to be fetched and built for it.
const limit = time.Hour

func main() {
	var o options
	o.run = regexp.MustCompile("")
	flag.Func("run", "only suites whose name matches the `pattern`", func(s string) (err error) {
		o.run, err = regexp.Compile(s)
		return err
	})
	flag.BoolVar(&o.long, "long", false, "also suites that take ten minutes")
	flag.BoolVar(&o.race, "race", false, "test under the race detector")
	flag.BoolVar(&o.published, "published", false, "test the published module instead, to compare")
	flag.BoolVar(&o.verbose, "v", false, "print all that failures print, of the known ones too")
	flag.StringVar(&o.root, "C", ".", "the `folder` of this module")
	flag.Parse()
	// Temporary folders are removed also at the end of an interrupted run.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

type options struct {
	run                            *regexp.Regexp
	root                           string
	long, race, published, verbose bool
}

func run(ctx context.Context, o options) error {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	known, err := loadKnown(filepath.Join(root, "thirdparty", "known.txt"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "thirdparty")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := workshop{dir: dir, root: root, grpc: root}
	if o.published {
		w.grpc = ""
	}
	if o.race {
		w.args = append(w.args, "-race")
	}

	r := report{known: known, verbose: o.verbose}
	for _, s := range suites {
		if o.run.MatchString(s.name) && (o.long || !s.long) {
			r.add(ctx, s, w)
		}
	}
	return r.print(os.Stdout)
}

// row is a suite's line in the table.
type row struct {
	suite      suite
	outcome    *outcome
	news, olds []testID
	err        error
	took       time.Duration
}

type report struct {
	known   knownList
	verbose bool
	rows    []row
}

func (r *report) add(ctx context.Context, s suite, w workshop) {
	fmt.Println("==", s.module)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	out, err := w.test(ctx, s)
	line := row{suite: s, outcome: out, err: err, took: time.Since(began)}
	if err != nil {
		fmt.Println("FAIL", err)
	} else {
		line.news, line.olds = out.sortOut(r.known)
	}
	for _, id := range line.news {
		fmt.Printf("FAIL %v\n%s", id, out.told(id, r.verbose))
	}
	for _, id := range line.olds {
		fmt.Printf("known %v: %s\n", id, r.known[id])
		if r.verbose {
			fmt.Print(out.told(id, true))
		}
	}
	r.rows = append(r.rows, line)
}

// print returns an error if anything failed that is not known to.
func (r *report) print(to *os.File) error {
	t := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\nsuite\tversion\tpassed\tskipped\tknown\tfailed\tseconds")
	bad := 0
	for _, l := range r.rows {
		_, version, _ := strings.Cut(l.suite.module, "@")
		if l.err != nil {
			bad++
			fmt.Fprintf(t, "%s\t%s\t-\t-\t-\tnot run\t%.0f\n", l.suite.name, version, l.took.Seconds())
			continue
		}
		bad += len(l.news)
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%.0f\n", l.suite.name, version,
			l.outcome.passed, l.outcome.skipped, len(l.olds), len(l.news), l.took.Seconds())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	switch {
	case len(r.rows) == 0:
		return errors.New("no such suite")
	case bad > 0:
		return fmt.Errorf("%d failures that are not known", bad)
	}
	return nil
}
