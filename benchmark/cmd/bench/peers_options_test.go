// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
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
	usual := rows()
	for _, r := range peerRows() {
		if r.floor != nil || r.want != 0 {
			t.Errorf("%s is compared with something else than a peer", r.name)
		}
		if !slices.ContainsFunc(usual, func(u row) bool { return u.name == r.name }) {
			t.Errorf("%s is no row of the others", r.name)
		}
	}
}
