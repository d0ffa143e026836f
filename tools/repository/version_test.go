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

// records are files that say what was compared with which release, or how to use it. They may name the release,
// and have to name the current one; the rest has it from version.go. Any file may say that something was
// "measured with" a release, and keeps that until it is measured again.
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
	measured = regexp.MustCompile(`\bmeasured with v[0-9]+\.[0-9]+\.[0-9]+\b`)
	named    = regexp.MustCompile(`(?:grpc|grpc-go)[ @/\x60]*\s?(v[0-9]+\.[0-9]+\.[0-9]+)\b`)
)

// TestOneVersion: version.go alone says which release this module stands in for. Each go.mod has
// to repeat it, as the go command wants one there; each has the same.
func TestOneVersion(t *testing.T) {
	eachTextFile(t, func(name string, text []byte) {
		for _, wrong := range misnamed(name, text) {
			t.Errorf("%s %s; version.go says v%s, which others read there (checkout.PublishedVersion)", name, wrong, grpc.Version)
		}
	})
}

// misnamed returns what is wrong about the releases that a file names. A figure keeps the release that it was
// measured with.
func misnamed(name string, text []byte) (wrong []string) {
	version := "v" + grpc.Version
	text = measured.ReplaceAll(text, nil)
	other := func(pattern *regexp.Regexp, what string) {
		for _, m := range pattern.FindAllSubmatch(text, -1) {
			if string(m[1]) != version {
				wrong = append(wrong, what+" "+string(m[1]))
			}
		}
	}
	switch base := filepath.Base(name); {
	case base == "go.mod" || filepath.Ext(base) == ".mod":
		other(required, "requires")
	case slices.Contains(records, name):
		other(named, "is a record of")
	case name == "version.go" || history.MatchString(name):
	case bytes.Contains(text, []byte(grpc.Version)) && bytes.Contains(text, []byte("grpc")) && namesRelease(text):
		wrong = append(wrong, "names the current release")
	}
	return wrong
}

// What is measured with an older release may stay as it is; what a reader is told to do may not.
func TestMisnamed(t *testing.T) {
	const current = "v" + grpc.Version
	for _, tt := range []struct {
		name, text string
		wrong      int
	}{
		{"README.md", "| idle, measured with v1.2.3 | grpc-go |", 0},
		{"README.md", "| idle | grpc-go v1.2.3 |", 1},
		{"README.md", "go get google.golang.org/grpc@v1.2.3, measured with v1.2.3", 1},
		{"README.md", "go get google.golang.org/grpc@" + current, 0},
		{"benchmark/README.md", "grpc, measured with " + current, 0},
		{"benchmark/README.md", "grpc, built with " + current, 1},
		{"x/go.mod", "require google.golang.org/grpc v1.2.3", 1},
		{"x/go.mod", "require google.golang.org/grpc " + current, 0},
	} {
		if wrong := misnamed(tt.name, []byte(tt.text)); len(wrong) != tt.wrong {
			t.Errorf("%s: %q: %q", tt.name, tt.text, wrong)
		}
	}
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
