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
	// Value is asked of the header's values, joined with commas. Exactly one of Value,
	// Range and Present is set.
	Value   *Text
	Range   *Range
	Present *bool
	// Invert turns the comparison round, and so it makes no difference to a header that
	// is not there: only Present matches that (A41), and what MissingAsEmpty says.
	Invert bool
	// MissingAsEmpty compares a header that is not there as if its value were empty. It is not for
	// Present.
	MissingAsEmpty bool
	// Encoded compares binary headers as they are on the wire, in base64 (A41), and not
	// as a handler sees them.
	Encoded bool
}

// Range is whole numbers from Start up to, and without, End.
type Range struct{ Start, End int64 }

// Header matches RPCs by a header that they have, or have not.
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
