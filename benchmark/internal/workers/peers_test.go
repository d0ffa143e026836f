// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"slices"
	"strings"
	"testing"
)

func TestPeersHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{Ours: true, Published: true}
	for _, p := range Peers() {
		if seen[p.Name] || strings.ContainsAny(p.Name, ",@/ ") {
			t.Errorf("%q is no name to tell an implementation by", p.Name)
		}
		seen[p.Name] = true
		if found, ok := PeerNamed(p.Name); !ok || found.dir != p.dir {
			t.Errorf("PeerNamed(%q) = %v, %v", p.Name, found.Name, ok)
		}
	}
	if _, ok := PeerNamed("no such peer"); ok {
		t.Error("a peer is found that does not exist")
	}
}

func TestPeerLacks(t *testing.T) {
	p := Peer{tools: []string{"g++", "pkg-config"}, libraries: []string{"grpc++", "protobuf"}}
	for _, tt := range []struct {
		has  []string
		want string
	}{
		{[]string{"g++", "pkg-config", "pkg-config --exists grpc++", "pkg-config --exists protobuf"}, ""},
		{[]string{"g++", "pkg-config", "pkg-config --exists protobuf"}, "library grpc++"},
		{[]string{"pkg-config", "pkg-config --exists grpc++"}, "g++, library protobuf"},
		{nil, "g++, pkg-config"},
	} {
		got := p.lacks(func(command ...string) bool { return slices.Contains(tt.has, strings.Join(command, " ")) })
		if got != tt.want {
			t.Errorf("with %q: lacks %q, want %q", tt.has, got, tt.want)
		}
	}
}

func TestHas(t *testing.T) {
	if !has("go") || !has("go", "version") {
		t.Error("the go command is not found")
	}
	if has("no-such-program-anywhere") || has("go", "no-such-verb") {
		t.Error("what does not exist is found")
	}
}
