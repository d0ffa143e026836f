// SPDX-License-Identifier: Apache-2.0

package siblings

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each internal package that the modules import is in the list of internal/siblings.go, and
// each in that list is there.
func TestFaces(t *testing.T) {
	const grpc = "google.golang.org/grpc"
	dir := strings.TrimSpace(list(t, "-m", "-f", "{{.Dir}}", grpc))
	text, err := os.ReadFile(filepath.Join(dir, "internal", "siblings.go"))
	if err != nil {
		t.Skip("the published module has no such list")
	}
	for line := range bytes.Lines(text) {
		if face, ok := bytes.CutPrefix(line, []byte("//\t")); ok {
			name, _, _ := strings.Cut(string(face), "\t")
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
	}
	imports := list(t, "-f", `{{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`,
		grpc+"/security/advancedtls/...", grpc+"/stats/opencensus/...")
	for imported := range strings.FieldsSeq(imports) {
		name, ok := strings.CutPrefix(imported, grpc+"/")
		if ok && strings.HasPrefix(name, "internal/") && !bytes.Contains(text, []byte("//\t"+name+"\t")) {
			t.Errorf("%s is not in the list", name)
		}
	}
}

// list is what `go list` prints.
func list(t *testing.T, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e"}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &stderr)
	}
	return string(out)
}
