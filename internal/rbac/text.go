// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"regexp"
	"strings"

	"google.golang.org/grpc/internal/regex"
)

// Text is a condition on a string. The zero Text matches only the empty string.
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
	whole    // a regular expression matches the whole string
	nonEmpty // anything but ""
)

// Exact matches s itself and nothing else.
func Exact(s string) Text { return Text{how: exact, want: s} }

// Prefix matches strings that begin with s.
func Prefix(s string) Text { return Text{how: prefix, want: s} }

// Suffix matches strings that end with s.
func Suffix(s string) Text { return Text{how: suffix, want: s} }

// Contains matches strings that contain s.
func Contains(s string) Text { return Text{how: contained, want: s} }

// NonEmpty matches all strings but the empty one.
func NonEmpty() Text { return Text{how: nonEmpty} }

// Regex matches strings that the regular expression (RE2 syntax) matches as a whole, as in Envoy. It
// fails if the expression exceeds the limits of package regex.
func Regex(expr string) (Text, error) {
	re, err := regex.Whole(expr)
	return Text{how: whole, regex: re}, err
}

// IgnoringCase returns a Text that treats upper and lower case ASCII letters as equal. It does not
// change how a regular expression matches: the expression itself says whether case counts.
func (t Text) IgnoringCase() Text {
	t.fold = true
	t.want = lower(t.want)
	return t
}

// Match reports whether s meets the condition.
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

// part returns the part of s that decides whether s matches. A client may send a long s, and only
// this part is converted to lower case.
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

// lower converts ASCII letters only: the lower case of other letters is ambiguous, and paths and
// names have none.
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
