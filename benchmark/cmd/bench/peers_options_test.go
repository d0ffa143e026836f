// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/benchmark/internal/ops"
)

func TestParsePeers(t *testing.T) {
	o, err := parsePeers(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(o.peers, ","); !slices.Equal(got, peerNames()) || got[0] != "published" {
		t.Errorf("%q are measured where nothing is said", got)
	}
	if r := o.rates(); r.pairs != 5 || r.seconds != 2 || r.timing().window != seconds(2) {
		t.Errorf("rates are measured with %+v", r)
	}
	if _, err := parsePeers([]string{"-no-such-flag"}); err == nil {
		t.Error("an unknown flag is no error")
	}
}

func TestPeerRows(t *testing.T) {
	usual, seen := rows(), map[string]bool{}
	for _, r := range peerRows() {
		if seen[r.name] {
			t.Errorf("two rows are named %s", r.name)
		}
		seen[r.name] = true
		if r.floor != nil || r.want != 0 {
			t.Errorf("%s is compared with something else than a peer", r.name)
		}
		if r.link.Security == ops.Insecure && !slices.ContainsFunc(usual, func(u row) bool { return u.name == r.name }) {
			t.Errorf("%s is no row of the others", r.name)
		}
	}
}

func TestChoosePeerRows(t *testing.T) {
	for pattern, want := range map[string]int{
		"": 12, "/tls$": 6, "^scale/.*/tls$": 4, "^(pull|push|scale)": 12, "none": 0,
	} {
		if got, err := choosePeerRows(pattern); err != nil || len(got) != want {
			t.Errorf("%q chooses %d rows, %v, want %d", pattern, len(got), err, want)
		}
	}
	if _, err := choosePeerRows("("); err == nil {
		t.Error("a bad pattern is no error")
	}
}

func TestRowsOfPeers(t *testing.T) {
	all := peerRows()
	hasTLS := func(r row) bool { return r.link.Security == ops.TLS }
	if got := rowsOf("kitex", all); slices.ContainsFunc(got, hasTLS) || len(got) == 0 {
		t.Error("Kitex has rows over TLS, or none at all")
	}
	for _, name := range []string{"published", "tonic"} {
		if got := rowsOf(name, all); len(got) != len(all) {
			t.Errorf("%s has %d of %d rows", name, len(got), len(all))
		}
	}
}
