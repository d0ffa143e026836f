// SPDX-License-Identifier: Apache-2.0

package checkout

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestProgram(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(top, "probe", "cmd", "probe")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "main.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := Program{Name: "probe", Mark: "cmd/probe/main.go"}
	for _, dir := range []string{top, filepath.Join(top, "probe"), deep} {
		t.Chdir(dir)
		if got, err := p.Root(); got != filepath.Join(top, "probe") || err != nil {
			t.Errorf("from %s: %q, %v", dir, got, err)
		}
		out, err := p.Out()
		if out != filepath.Join(top, "out", "probe") || err != nil {
			t.Errorf("from %s: %q, %v", dir, out, err)
		}
		if _, err := os.Stat(out); err != nil {
			t.Error(err)
		}
	}
	t.Chdir(t.TempDir())
	if got, err := p.Root(); err == nil {
		t.Errorf("outside of a checkout: %q", got)
	}
}
