// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// knownList maps tests that are known to fail to the reason.
type knownList map[testID]string

func (l knownList) has(id testID) bool {
	_, ok := l[id]
	return ok
}

func loadKnown(path string) (knownList, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l, err := readKnown(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// readKnown reads lines of "package test: reason", the test being "-" for a package that
// does not build. Lines that begin with a # are comments.
func readKnown(r io.Reader) (knownList, error) {
	l := make(knownList)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		what, reason, ok := strings.Cut(line, ": ")
		words := strings.Fields(what)
		if !ok || len(words) != 2 || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("line %d: want %q", n, "package test: reason")
		}
		if words[1] == "-" {
			words[1] = ""
		}
		l[testID{words[0], words[1]}] = strings.TrimSpace(reason)
	}
	return l, lines.Err()
}

// testID names a test of a package, or without a test, the package itself: it can't be
// built, or fails apart from its tests.
type testID struct{ pkg, test string }

func (t testID) String() string {
	if t.test == "" {
		return t.pkg
	}
	return t.pkg + " " + t.test
}
