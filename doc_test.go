// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitectureMapsFiles: ARCHITECTURE.md maps every file that there is, and no other.
func TestArchitectureMapsFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("whoever is in the middle of a change may have files that are not mapped yet")
	}
	doc, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "\n## Files of the root\n")
	section, _, _ = strings.Cut(section, "\n## ")
	mapped := regexp.MustCompile(`\b[a-z_]+\.go\b`).FindAllString(section, -1)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f != "doc.go" && !strings.HasSuffix(f, "_test.go") && !slices.Contains(mapped, f) {
			t.Errorf("ARCHITECTURE.md does not say what %s is for", f)
		}
	}
	for _, f := range mapped {
		if !slices.Contains(files, f) && !strings.HasSuffix(f, "_test.go") {
			t.Errorf("ARCHITECTURE.md maps %s, which is not there", f)
		}
	}
}

// TestSecurityNamesTests: each thing that SECURITY.md says a peer cannot do names the tests that show
// it, and all of these are there.
func TestSecurityNamesTests(t *testing.T) {
	doc, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	cannot, _, _ := strings.Cut(string(doc), "What a peer *can* do:")
	for _, claim := range strings.Split(cannot, "\n- **")[1:] {
		if !strings.Contains(claim, "Shown by") {
			what, _, _ := strings.Cut(claim, "**")
			t.Errorf("no test is named for %q", what)
		}
	}
	there := testNames(t)
	for _, m := range regexp.MustCompile("`((Test|Fuzz)[A-Z]\\w*)`").FindAllStringSubmatch(string(doc), -1) {
		if !there[m[1]] {
			t.Errorf("SECURITY.md names %s, which is not there", m[1])
		}
	}
}

// testNames are those of the tests and fuzz targets of this module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((Test|Fuzz)[A-Z]\w*)\(`)
	names := make(map[string]bool)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
