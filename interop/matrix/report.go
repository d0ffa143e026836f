// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
)

// report prints a table, the failures and the counts, and returns the number of failures.
//
// In the table a row is a case, and a column is a pair over a transport. The legs with pooling
// on and off share a column. A cell says ok if the case is ok in both.
func report(w io.Writer, legs []*leg) (failed int) {
	t := newTable(legs)
	fmt.Fprint(w, "\n", t.header())
	for _, name := range t.cases {
		fmt.Fprintf(w, "%-*s", t.caseWidth, name)
		for _, c := range t.columns {
			fmt.Fprintf(w, "  %-*s", columnWidth, c.cell(name))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)

	passed := 0
	for _, l := range legs {
		p, f := l.count()
		passed, failed = passed+p, failed+f
		if l.err != nil {
			fmt.Fprintf(w, "FAIL %v: %v\n", l, l.err)
		}
		for _, r := range l.results {
			if !r.ok {
				fmt.Fprintf(w, "FAIL %v %s: %s\n", l, r.name, r.detail)
			}
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	return failed
}

const columnWidth = 4

type table struct {
	cases     []string
	caseWidth int
	columns   []column
}

// column has the legs that differ only in pooling.
type column struct {
	pair      pair
	transport string
	legs      []*leg
}

func newTable(legs []*leg) table {
	var t table
	seen := make(map[string]bool)
	for _, l := range legs {
		if n := len(t.columns); n == 0 || t.columns[n-1].pair != l.pair || t.columns[n-1].transport != l.transport.name {
			t.columns = append(t.columns, column{pair: l.pair, transport: l.transport.name})
		}
		last := &t.columns[len(t.columns)-1]
		last.legs = append(last.legs, l)
		for _, r := range l.results {
			if !seen[r.name] {
				seen[r.name] = true
				t.cases = append(t.cases, r.name)
				t.caseWidth = max(t.caseWidth, len(r.name))
			}
		}
	}
	return t
}

// header returns the two lines of the header: the pairs, each over its columns, and the
// transports.
func (t table) header() string {
	var top, bottom strings.Builder
	fmt.Fprintf(&top, "%-*s", t.caseWidth, "")
	fmt.Fprintf(&bottom, "%-*s", t.caseWidth, "")
	for i := 0; i < len(t.columns); {
		n := 1
		for i+n < len(t.columns) && t.columns[i+n].pair == t.columns[i].pair {
			n++
		}
		fmt.Fprintf(&top, "  %-*s", n*(columnWidth+2)-2, t.columns[i].pair)
		i += n
	}
	for _, c := range t.columns {
		fmt.Fprintf(&bottom, "  %-*s", columnWidth, c.transport)
	}
	return strings.TrimRight(top.String(), " ") + "\n" + strings.TrimRight(bottom.String(), " ") + "\n"
}

// cell returns the outcome of a case: ok, FAIL, or a dash if a leg has no result for it.
func (c column) cell(name string) string {
	cell := "-"
	for _, l := range c.legs {
		found := false
		for _, r := range l.results {
			if r.name != name {
				continue
			}
			found = true
			if !r.ok {
				return "FAIL"
			}
		}
		if !found {
			return "-"
		}
		cell = "ok"
	}
	return cell
}
