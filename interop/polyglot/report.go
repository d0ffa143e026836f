// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// result is the outcome of one case.
type result struct {
	name   string
	ok     bool
	detail string
}

// row has the results of a leg.
type row struct {
	name    string
	results []result
	// without has the cases that were left out, and why.
	without map[string]string
	// note is a remark for the table.
	note string
	err  error
}

// failedWith returns the row with those of errs added that are not nil.
func (r row) failedWith(errs ...error) row {
	r.err = errors.Join(append([]error{r.err}, errs...)...)
	return r
}

func (r row) count() (passed, failed int) {
	if r.err != nil {
		failed++
	}
	for _, c := range r.results {
		if c.ok {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed
}

type report struct {
	to     io.Writer
	rows   []row
	absent []string
	failed int
}

func newReport(to io.Writer) *report { return &report{to: to} }

// add adds a row to the report, and prints its counts and failures.
func (r *report) add(line row) {
	r.rows = append(r.rows, line)
	passed, failed := line.count()
	r.failed += failed
	fmt.Fprintf(r.to, "%s: %d passed, %d failed\n", line.name, passed, failed)
	for _, c := range line.results {
		if !c.ok {
			fmt.Fprintf(r.to, "FAIL %s %s: %s\n", line.name, c.name, c.detail)
		}
	}
	if line.err != nil {
		fmt.Fprintf(r.to, "FAIL %s: %v\n", line.name, line.err)
	}
}

func (r *report) leaveOut(name, why string) {
	r.absent = append(r.absent, name+": "+why)
}

// print prints the table, the cases and peers that were left out, and the counts.
func (r *report) print() {
	fmt.Fprintln(r.to)
	t := tabwriter.NewWriter(r.to, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "client>server\tpassed\tfailed\t")
	total := 0
	reasons := make(map[string][]string)
	for _, line := range r.rows {
		passed, failed := line.count()
		total += passed
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", line.name, passed, failed, line.note)
		server := strings.TrimSuffix(strings.TrimSuffix(line.name, " tls"), " plain")
		for name, why := range line.without {
			line := server + " " + name + ": " + why
			reasons[line] = nil
		}
	}
	t.Flush()
	for _, line := range sorted(reasons) {
		fmt.Fprintln(r.to, "left out", line)
	}
	for _, line := range r.absent {
		fmt.Fprintln(r.to, "left out", line)
	}
	fmt.Fprintf(r.to, "%d passed, %d failed\n", total, r.failed)
}
