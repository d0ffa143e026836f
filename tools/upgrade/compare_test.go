// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAPIChanges(t *testing.T) {
	const text = `Incompatible changes:
- ./a.B: changed from func() to func(int)
- package google.golang.org/grpc/internal/x: removed
Compatible changes:
- ./internal/y.Z: added
- ./mem.NewThing: added
`
	want := []string{"incompatible: ./a.B: changed from func() to func(int)", "compatible: ./mem.NewThing: added"}
	if got := apiChanges(text); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVariablesIn(t *testing.T) {
	const symbols = ` 1234 R go:string."GRPC_GO_LOG_FORMATTER"
 1250 R go:string."GRPC_GO_LOG_FORMATTER"
 1300 R go:string."GRPC_ is a prefix"
 1400 T google.golang.org/grpc.GRPC_GO_OTHER
`
	if got := variablesIn(symbols); !slices.Equal(got, []string{"GRPC_GO_LOG_FORMATTER"}) {
		t.Errorf("got %q", got)
	}
}

func TestProbesIn(t *testing.T) {
	const text = `DIFFERENT stats/one (- v1.84.0, + v1.85.0)
    - a
    + b
DIFFERENT two (- v1.84.0, + v1.85.0)
    + c
2 probes: 0 same, 0 differ as listed, 2 differ, 0 listed in vain; 3 s
`
	if got := probesIn(text); !slices.Equal(got, []string{"stats/one\n- a\n+ b\n", "two\n+ c\n"}) {
		t.Errorf("got %q", got)
	}
}

func TestUnnamedProposals(t *testing.T) {
	top, grfc := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(top, "a.go"):             "// As gRFC A6 says.",
		filepath.Join(grfc, "A6-retries.md"):   "* Status: Implemented\n",
		filepath.Join(grfc, "A60-some-xds.md"): "* Status: In Review\n* Implemented in: Go\n",
		filepath.Join(grfc, "README.md"):       "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := comparison{top: top, grfc: grfc}
	got, err := c.unnamedProposals()
	if want := []string{"A60 some xds: status In Review; implemented in Go"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestSectionWrite(t *testing.T) {
	var out strings.Builder
	s := section{"Probes", "Do it.", func() ([]string, error) { return []string{"one", "two\n- a\n+ b\n"}, nil }}
	if err := s.write(&out); err != nil {
		t.Fatal(err)
	}
	const want = "\n## Probes (2)\n\nDo it.\n\n- [ ] one\n- [ ] two\n\n  ```\n  - a\n  + b\n  ```\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
