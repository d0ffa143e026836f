// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocMapsFiles: the package's documentation maps every file that there is, and no other.
func TestDocMapsFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("whoever is in the middle of a change may have files that are not mapped yet")
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	mapped := regexp.MustCompile(`\b[a-z_]+\.go\b`).FindAllString(string(doc), -1)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f != "doc.go" && !strings.HasSuffix(f, "_test.go") && !slices.Contains(mapped, f) {
			t.Errorf("doc.go does not say what %s is for", f)
		}
	}
	for _, f := range mapped {
		if !slices.Contains(files, f) && !strings.HasSuffix(f, "_test.go") {
			t.Errorf("doc.go maps %s, which is not there", f)
		}
	}
}
