// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
)

const top = "../.."

// records are files that say what was measured or compared with which release. They may name
// the release, and have to name the current one; the rest has it from version.go.
var records = []string{
	"CHANGELOG.md",
	"README.md",
	"internal/envconfig/testdata/published.txt",
	"thirdparty/README.md",
}

// history are folders and files that name releases of their day.
var history = regexp.MustCompile(`^(docs/upgrade\.md|RELEASING\.md|tools/upgrade/.*|.*\.(svg|sum))$`)

var (
	required = regexp.MustCompile(`(?m)^(?:require)?\s*google\.golang\.org/grpc (v\S+)`)
	named    = regexp.MustCompile(`(?:grpc|grpc-go)[ @/\x60]*\s?(v[0-9]+\.[0-9]+\.[0-9]+)\b`)
)

// TestOneVersion: version.go alone says which release this module stands in for. Each go.mod has
// to repeat it, as the go command wants one there; each has the same.
func TestOneVersion(t *testing.T) {
	version := "v" + grpc.Version
	eachTextFile(t, func(name string, text []byte) {
		switch base := filepath.Base(name); {
		case base == "go.mod" || filepath.Ext(base) == ".mod":
			for _, m := range required.FindAllSubmatch(text, -1) {
				if string(m[1]) != version {
					t.Errorf("%s requires %s; version.go says %s", name, m[1], version)
				}
			}
		case slices.Contains(records, name):
			for _, m := range named.FindAllSubmatch(text, -1) {
				if string(m[1]) != version {
					t.Errorf("%s is a record of %s; version.go says %s", name, m[1], version)
				}
			}
		case name == "version.go" || history.MatchString(name):
		case bytes.Contains(text, []byte(grpc.Version)) && bytes.Contains(text, []byte("grpc")) && namesRelease(text):
			t.Errorf("%s names the release %s, which only version.go should: checkout.PublishedVersion reads it there", name, grpc.Version)
		}
	})
}

// namesRelease reports whether text has the current release's number as a word of its own.
func namesRelease(text []byte) bool {
	return regexp.MustCompile(`\bv?` + regexp.QuoteMeta(grpc.Version) + `\b`).Match(text)
}

// TestOneVersionOfTools: the Makefile alone says which versions of tools are built, and go.mod
// which version of Go is needed; workflows ask them.
func TestOneVersionOfTools(t *testing.T) {
	makefile := read(t, "Makefile")
	tools := regexp.MustCompile(`:= \S+@(v\S+)`).FindAllStringSubmatch(makefile, -1)
	if len(tools) < 5 {
		t.Fatalf("the Makefile names %d tools", len(tools))
	}
	for _, file := range workflows(t) {
		text := read(t, file)
		for _, tool := range tools {
			if strings.Contains(text, tool[1]) {
				t.Errorf("%s repeats version %s of a tool; the Makefile builds it", file, tool[1])
			}
		}
		if regexp.MustCompile(`go-version: *['"]?\d`).MatchString(text) {
			t.Errorf("%s repeats a version of Go; go.mod has it", file)
		}
	}
}

// eachTextFile calls f with each file of the repository that may name a version.
func eachTextFile(t *testing.T, f func(name string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && slices.Contains([]string{".git", "bin", "out", "testdata/fuzz"}, name):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.ContainsRune(text[:min(len(text), 1024)], 0) {
			f(name, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// workflows returns the workflows, by their names below the repository's top.
func workflows(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(top, ".github", "workflows", "*.yml"))
	if err != nil || len(found) == 0 {
		t.Fatal("no workflows", err)
	}
	for i := range found {
		found[i] = ".github/workflows/" + filepath.Base(found[i])
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
