// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"strconv"
	"strings"
)

// HeaderMatch is a condition on a header.
type HeaderMatch struct {
	// Name may be in any case.
	Name string
	// Value is the condition on the header's values, which are joined with commas. Exactly one of
	// Value, Range and Present is set.
	Value   *Text
	Range   *Range
	Present *bool
	// Invert inverts the result of the comparison. It does not make a missing header match: only
	// Present and MissingAsEmpty can do that (A41).
	Invert bool
	// MissingAsEmpty compares a missing header as if its value were empty. It must not be combined
	// with Present.
	MissingAsEmpty bool
	// Encoded compares a binary header in the form that it has on the wire, base64 (A41), and not
	// in the form that a handler sees.
	Encoded bool
}

// Range is the integers from Start to End, including Start and excluding End.
type Range struct{ Start, End int64 }

// Header matches an RPC by one of its headers, or by the lack of a header.
func Header(h HeaderMatch) Matcher {
	h.Name = strings.ToLower(h.Name)
	h.Encoded = h.Encoded && strings.HasSuffix(h.Name, "-bin")
	return &h
}

// Match implements Matcher.
func (h *HeaderMatch) Match(r *Request) bool {
	f := r.header(h.Name)
	if h.Present != nil {
		return (f.there() == *h.Present) != h.Invert
	}
	return (f.there() || h.MissingAsEmpty) && h.matchValue(f.text(h.Encoded)) != h.Invert
}

func (h *HeaderMatch) matchValue(value string) bool {
	if h.Range == nil {
		return h.Value.Match(value)
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && h.Range.Start <= n && n < h.Range.End
}
