// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fileSection = regexp.MustCompile(`(?s)\n// # (?:Files|The files)\n.*?\n(?:// # |package )`)
	listLine    = regexp.MustCompile(`(?m)^//\t(\S+(?: \S+)*)`) // the names; two spaces end them
)

// TestFileLists: where a package's documentation lists its files, it lists all of them, and no others. A file
// with a build tag goes with the file whose name it continues.
func TestFileLists(t *testing.T) {
	for _, dir := range []string{"internal/transport", "internal/transport/h2", "internal/transport/h2/protocol", "internal/channel"} {
		section := fileSection.FindString(read(t, dir+"/doc.go"))
		var listed []string
		for _, m := range listLine.FindAllStringSubmatch(section, -1) {
			listed = append(listed, strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })...)
		}
		files, err := filepath.Glob(filepath.Join(top, dir, "*.go"))
		if err != nil || len(listed) < 20 {
			t.Fatalf("%s lists %d files: %v", dir, len(listed), err)
		}
		used := map[string]bool{}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".go")
			if strings.HasSuffix(name, "_test") {
				continue
			}
			tagged := strings.Contains(read(t, dir+"/"+name+".go"), "\n//go:build ")
			i := slices.IndexFunc(listed, func(l string) bool {
				fits, _ := path.Match(l, name)
				all, _ := path.Match(l, name+"_")
				return fits || all || tagged && strings.HasPrefix(name, l+"_")
			})
			switch {
			case i >= 0:
				used[listed[i]] = true
			case name != "doc":
				t.Errorf("the list of files in %s/doc.go has no %s", dir, name)
			}
		}
		for _, l := range listed {
			if !used[l] {
				t.Errorf("%s/doc.go lists %s, which is no file", dir, l)
			}
		}
	}
}
