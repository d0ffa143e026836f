// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"google.golang.org/grpc/benchmark/internal/ops"
)

func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows() {
		if seen[r.name] {
			t.Errorf("two rows are named %s", r.name)
		}
		seen[r.name] = true
		if strings.ContainsAny(r.name, " \t") {
			t.Errorf("%q cannot be the name of a benchmark", r.name)
		}
		if r.floor != nil && r.link.Wrap == ops.Exact && (r.floor.link.Protocol == ops.GRPC || r.link.Protocol != ops.GRPC) {
			t.Errorf("%s is not told from its floor", r.name)
		}
	}
}

func TestChoose(t *testing.T) {
	usual, err := choose("", false)
	if err != nil {
		t.Fatal(err)
	}
	quick, err := choose("", true)
	if err != nil {
		t.Fatal(err)
	}
	if len(quick) == 0 || len(quick) >= len(usual) || len(usual) >= len(rows()) {
		t.Errorf("%d rows quickly, %d usually, %d in all", len(quick), len(usual), len(rows()))
	}
	extra, err := choose("^scale/", true)
	if err != nil || len(extra) == 0 {
		t.Errorf("asked for by name: %d rows, %v", len(extra), err)
	}
	for _, bad := range []string{"no such row", "("} {
		if _, err := choose(bad, false); err == nil {
			t.Errorf("choose(%q) is not an error", bad)
		}
	}
}

func TestLinkOf(t *testing.T) {
	for over, want := range map[string]ops.Link{
		"tcp":      {Protocol: ops.GRPC, Network: ops.TCP, Security: ops.Insecure},
		"tls":      {Protocol: ops.GRPC, Network: ops.TCP, Security: ops.TLS},
		"alts":     {Protocol: ops.GRPC, Network: ops.TCP, Security: ops.ALTS},
		"unix":     {Protocol: ops.GRPC, Network: ops.Unix, Security: ops.Insecure},
		"unix+tls": {Protocol: ops.GRPC, Network: ops.Unix, Security: ops.TLS},
	} {
		if got := linkOf(over); got != want {
			t.Errorf("linkOf(%q) = %+v", over, got)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int]string{0: "0B", 128: "128B", 8 << 10: "8KiB", 1 << 20: "1MiB", 1500: "1500B"} {
		if got := size(bytes); got != want {
			t.Errorf("size(%d) = %s", bytes, got)
		}
	}
}
