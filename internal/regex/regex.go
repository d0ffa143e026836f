// SPDX-License-Identifier: Apache-2.0

// Package regex compiles regular expressions that come from configurations and control planes. It
// limits what they cost: the length of the expression, and the size of the program that it compiles
// to. A short expression can make a large program: that of "(((a{10}){10}){10})" has a thousand
// steps. The time to match is at most proportional to the size of the program times the length of the
// text (RE2), and a peer chooses that text.
package regex

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// MaxText is the maximum length of an expression, in bytes.
	MaxText = 64 << 10
	// MaxProgram is the maximum size of the program that an expression compiles to, in steps of about
	// 40 bytes each.
	MaxProgram = 128 << 10
)

// Whole compiles an expression so that it matches only if it matches a whole text.
func Whole(expr string) (*regexp.Regexp, error) {
	if err := check(expr); err != nil { // without the parentheses added below: "a)(b" is not valid
		return nil, err
	}
	re, err := regexp.Compile(`\A(?:` + expr + `)\z`)
	if err != nil { // a \Q without \E quotes the parenthesis
		return regexp.Compile(`\A(?:` + expr + `\E)\z`)
	}
	return re, nil
}

// Part compiles an expression so that it matches if it matches any part of a text.
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

// steps estimates the number of steps in the program of an expression.
func steps(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub { // the parser limits the depth to 1,000
		n += steps(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpRepeat: // the parser limits the repetitions to 1,000, nested ones multiplied
		return (n-1)*max(re.Min, re.Max, 1) + 1
	}
	return n
}
