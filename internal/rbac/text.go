// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"regexp"
	"strings"

	"google.golang.org/grpc/internal/regex"
)

// Text is a condition on a string. The zero Text is the empty string, exactly.
type Text struct {
	how   how
	want  string // in lower case if fold
	fold  bool
	regex *regexp.Regexp
}

type how uint8

const (
	exact how = iota
	prefix
	suffix
	contained
	whole    // of a regular expression
	nonEmpty // anything but ""
)

// Exact is the string itself.
func Exact(s string) Text { return Text{how: exact, want: s} }

// Prefix is how the string begins.
func Prefix(s string) Text { return Text{how: prefix, want: s} }

// Suffix is how it ends.
func Suffix(s string) Text { return Text{how: suffix, want: s} }

// Contains is what it has somewhere.
func Contains(s string) Text { return Text{how: contained, want: s} }

// NonEmpty is any string but the empty one.
func NonEmpty() Text { return Text{how: nonEmpty} }

// Regex is a regular expression (RE2) for the whole string, as in Envoy, within the bounds of package
// regex.
func Regex(expr string) (Text, error) {
	re, err := regex.Whole(expr)
	return Text{how: whole, regex: re}, err
}

// IgnoringCase returns t with upper and lower case letters of ASCII made equal. It makes no
// difference to a regular expression, which says so itself.
func (t Text) IgnoringCase() Text {
	t.fold = true
	t.want = lower(t.want)
	return t
}

// Match reports whether s is as t says.
func (t Text) Match(s string) bool {
	if t.fold && t.how != whole {
		s = lower(t.part(s))
	}
	switch t.how {
	case exact:
		return s == t.want
	case prefix:
		return strings.HasPrefix(s, t.want)
	case suffix:
		return strings.HasSuffix(s, t.want)
	case contained:
		return strings.Contains(s, t.want)
	case whole:
		return t.regex.MatchString(s)
	}
	return s != ""
}

// part is what of s counts: a client may send a long one.
func (t Text) part(s string) string {
	n := len(t.want)
	switch {
	case len(s) <= n:
	case t.how == exact:
		return s[:n+1] // which is not equal
	case t.how == prefix:
		return s[:n]
	case t.how == suffix:
		return s[len(s)-n:]
	case t.how == nonEmpty:
		return s[:1]
	}
	return s
}

// lower is ASCII only: other letters have several lower cases, and paths and names none.
func lower(s string) string {
	for i := range len(s) {
		if isUpper(s[i]) {
			return string(lowerFrom([]byte(s), i))
		}
	}
	return s
}

func lowerFrom(b []byte, i int) []byte {
	for ; i < len(b); i++ {
		if isUpper(b[i]) {
			b[i] += 'a' - 'A'
		}
	}
	return b
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
