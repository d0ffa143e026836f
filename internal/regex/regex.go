// SPDX-License-Identifier: Apache-2.0

// Package regex compiles the regular expressions that configurations and control planes bring, within
// bounds on what they cost: the text, and the program that is made of it. A short text can be a large
// program: "(((a{10}){10}){10})" is one of a thousand steps. Matching takes a time that is at most
// proportional to the program and to the text that is matched (RE2), which a peer chooses.
package regex

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// MaxText bounds the text of an expression, in bytes.
	MaxText = 64 << 10
	// MaxProgram bounds the program that it becomes, in steps of about 40 bytes each.
	MaxProgram = 128 << 10
)

// Whole compiles an expression that the whole of a text must match.
func Whole(expr string) (*regexp.Regexp, error) {
	if err := check(expr); err != nil { // alone: "a)(b" is none
		return nil, err
	}
	return regexp.Compile(`\A(?:` + expr + `)\z`)
}

// Part compiles an expression that any part of a text may match.
func Part(expr string) (*regexp.Regexp, error) {
	if err := check(expr); err != nil {
		return nil, err
	}
	return regexp.Compile(expr)
}

func check(expr string) error {
	if len(expr) > MaxText {
		return fmt.Errorf("a regular expression of %d bytes; %d is the limit", len(expr), MaxText)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return err
	}
	if n := steps(tree); n > MaxProgram {
		return fmt.Errorf("a regular expression of about %d steps; %d is the limit", n, MaxProgram)
	}
	return nil
}

// steps is about how long the program for a part of an expression is.
func steps(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub { // as deep as the parser allows: 1,000 at most
		n += steps(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpRepeat: // a thousand times at most, of all that are nested
		return (n-1)*max(re.Min, re.Max, 1) + 1
	}
	return n
}
