// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutcome(t *testing.T) {
	const events = `
{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B/one","Output":"bad\n"}
{"Action":"fail","Package":"p","Test":"B/one"}
{"Action":"pass","Package":"p","Test":"B/two"}
{"Action":"fail","Package":"p","Test":"B"}
{"Action":"fail","Package":"p","Test":"C/one"}
{"Action":"fail","Package":"p","Test":"C/two"}
{"Action":"fail","Package":"p","Test":"C"}
{"Action":"skip","Package":"p","Test":"D"}
{"Action":"fail","Package":"p"}
{"ImportPath":"q [q.test]","Action":"build-output","Output":"undefined\n"}
{"ImportPath":"q [q.test]","Action":"build-fail"}
{"Action":"start","Package":"q"}
{"Action":"output","Package":"q","Output":"FAIL q [build failed]\n"}
{"Action":"fail","Package":"q","FailedBuild":"q [q.test]"}
{"Action":"skip","Package":"empty"}
`
	o, err := readOutcome(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	if o.passed != 2 || o.skipped != 1 {
		t.Errorf("%d passed, %d skipped; want 2, 1", o.passed, o.skipped)
	}
	if got, want := o.told(testID{"q", ""}, false), "FAIL q [build failed]\nundefined\n"; got != want {
		t.Errorf("output of a failed build: %q, want %q", got, want)
	}
	if got, want := o.told(testID{"p", "B/one"}, false), "bad\n"; got != want {
		t.Errorf("output of a failed test: %q, want %q", got, want)
	}

	o.print(testID{"p", "B/one"}, strings.Repeat("0123456789\n", 10_000))
	if short, all := len(o.told(testID{"p", "B/one"}, false)), len(o.told(testID{"p", "B/one"}, true)); short > 20_000 || all < 100_000 {
		t.Errorf("much output is cut to %d bytes, and told in full in %d", short, all)
	}

	known, err := readKnown(strings.NewReader("# why\n\np B/one: because\np C/one: so\nq -: old\n"))
	if err != nil {
		t.Fatal(err)
	}
	news, olds := o.sortOut(known)
	ids := cmp.AllowUnexported(testID{})
	if diff := cmp.Diff([]testID{{"p", "C/two"}, {"p", "C"}}, news, ids); diff != "" {
		t.Errorf("new failures (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]testID{{"p", "B/one"}, {"p", "B"}, {"p", "C/one"}, {"q", ""}}, olds, ids); diff != "" {
		t.Errorf("known failures (-want +got):\n%s", diff)
	}
}

func TestOutcomeOfNoJSON(t *testing.T) {
	if _, err := readOutcome(strings.NewReader("go: no such module\n")); err == nil {
		t.Error("read what is not JSON")
	}
}

func TestKnownWithoutReason(t *testing.T) {
	for _, line := range []string{"p A", "p A: ", "p: because", "p A B: because"} {
		if _, err := readKnown(strings.NewReader(line + "\n")); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}
