// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"google.golang.org/grpc/benchmark/internal/ops"
)

func TestSparseWraps(t *testing.T) {
	o, err := parseSparse([]string{"-wrap", "exact,metered", "-over", "tcp", "-n", "20", "-every", "1s", "-spread", "evenly"})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := o.rows()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, r.name+" "+r.link.Wrap)
	}
	if want := []string{"sparse/tcp/n=20/every=1s/evenly " + ops.Exact, "sparse/tcp/n=20/every=1s/evenly/metered " + ops.Meters}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, wrap := range []string{"", "meterd", ops.OwnTLS} {
		if _, err := parseSparse([]string{"-wrap", wrap}); err == nil {
			t.Errorf("%q is a wrapper", wrap)
		}
	}
}
