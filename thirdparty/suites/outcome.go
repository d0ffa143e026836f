// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

// outcome counts tests by their names, subtests too.
type outcome struct {
	passed, skipped int
	failed          []testID
	// output is what tests that failed, or have not ended, have printed.
	output map[testID]*strings.Builder
}

func (o *outcome) print(id testID, text string) {
	b := o.output[id]
	if b == nil {
		b = new(strings.Builder)
		o.output[id] = b
	}
	b.WriteString(text)
}

// told is the end of what the test has printed, or all of it.
func (o *outcome) told(id testID, all bool) string {
	const enough = 16 << 10
	b := o.output[id]
	if b == nil {
		return ""
	}
	s := b.String()
	if all || len(s) <= enough {
		return s
	}
	_, s, _ = strings.Cut(s[len(s)-enough:], "\n")
	return "(the end; -v prints all)\n" + s
}

func readOutcome(r io.Reader) (*outcome, error) {
	p := &eventReader{
		outcome:   outcome{output: make(map[testID]*strings.Builder)},
		build:     make(map[string]string),
		failsWith: make(map[string]bool),
	}
	for dec := json.NewDecoder(r); ; {
		var e event
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF):
			return &p.outcome, nil
		case err != nil:
			return nil, fmt.Errorf("can't read what the tests print: %w", err)
		}
		p.take(e)
	}
}

type eventReader struct {
	outcome
	// build is the output of the compiler by import path.
	build map[string]string
	// failsWith has the packages of which a test failed.
	failsWith map[string]bool
}

func (p *eventReader) take(e event) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		p.build[e.ImportPath] += e.Output
	case "output":
		p.print(id, e.Output)
	case "pass", "skip":
		// A package without tests is skipped: not worth counting.
		if e.Test != "" && e.Action == "pass" {
			p.passed++
		} else if e.Test != "" {
			p.skipped++
		}
		delete(p.output, id)
	case "fail":
		if e.FailedBuild != "" {
			p.print(id, p.build[e.FailedBuild])
		}
		// A package fails because tests of it do: those have been counted.
		if e.Test == "" && p.failsWith[e.Package] {
			return
		}
		p.failsWith[e.Package] = true
		p.failed = append(p.failed, id)
	}
}

// sortOut separates failures that are known from those that are not. A parent of a known
// subtest fails with it, and is known if all subtests that fail are.
func (o *outcome) sortOut(known knownList) (news []testID, olds []testID) {
	isKnown := make(map[testID]bool)
	for _, id := range o.failed {
		isKnown[id] = known.has(id)
	}
	// Subtests end before their parents, so that a parent comes after all of them.
	for _, id := range o.failed {
		if isKnown[id] || id.test == "" {
			continue
		}
		children, knownChildren := 0, 0
		for _, c := range o.failed {
			if c.pkg == id.pkg && strings.HasPrefix(c.test, id.test+"/") {
				children++
				if isKnown[c] {
					knownChildren++
				}
			}
		}
		isKnown[id] = children > 0 && children == knownChildren
	}
	for _, id := range o.failed {
		if isKnown[id] {
			olds = append(olds, id)
		} else {
			news = append(news, id)
		}
	}
	return news, olds
}
