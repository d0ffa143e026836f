// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestAll(t *testing.T) {
	name := regexp.MustCompile(`^(server|client)/[a-z]+/[a-z0-9-]+$`)
	seen := map[string]bool{}
	counts := map[string]int{}
	for _, k := range All() {
		side, _, _ := strings.Cut(k.Name, "/")
		counts[side]++
		if !name.MatchString(k.Name) || seen[k.Name] {
			t.Errorf("%q is no name, or there twice", k.Name)
		}
		seen[k.Name] = true
		if k.About == "" || k.Attack == nil {
			t.Errorf("%s says nothing, or does nothing", k.Name)
		}
		if k.OnClient() != (side == "client") {
			t.Errorf("%s attacks the other side", k.Name)
		}
	}
	if counts["server"] < 60 || counts["client"] < 40 {
		t.Errorf("there are %v kinds", counts)
	}
}

// TestSecurityCountsKinds: SECURITY.md says how many kinds there are.
func TestSecurityCountsKinds(t *testing.T) {
	doc, err := os.ReadFile("../../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("names the %d kinds", len(All())); !strings.Contains(string(doc), want) {
		t.Errorf("SECURITY.md does not say %q", want)
	}
}

func TestFor(t *testing.T) {
	tests := []struct {
		name  string
		own   time.Duration
		asked time.Duration
		short bool
		want  time.Duration
	}{
		{"usual", 0, 0, false, usual},
		{"short", 0, 0, true, brief},
		{"its own", 3 * time.Second, 0, false, 3 * time.Second},
		{"its own, also in the short form", 3 * time.Second, 0, true, 3 * time.Second},
		{"asked for", 3 * time.Second, time.Minute, true, time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := (Kind{Time: test.own}).For(test.asked, test.short).Time; got != test.want {
				t.Errorf("it takes %v, want %v", got, test.want)
			}
		})
	}
}
