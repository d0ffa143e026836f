// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/verdict"
)

// TestReadmeHasEveryDifference compares the headings of differences.txt with the rows of the
// table in README.
func TestReadmeHasEveryDifference(t *testing.T) {
	f, err := os.Open("differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	headings, err := verdict.Headings(f)
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## What differs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []string
	for _, row := range regexp.MustCompile(`(?m)^\| \*\*(.+?)\*\* \|`).FindAllStringSubmatch(section, -1) {
		rows = append(rows, row[1])
	}
	if !slices.Equal(headings, rows) {
		t.Errorf("differences.txt has the headings\n%q, README the rows\n%q", headings, rows)
	}
}

// TestReadmeCountsProbes counts the probes as README says it, to the hundred.
func TestReadmeCountsProbes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("some probes are of Linux")
	}
	out, err := exec.Command("go", "run", "./probes", "-list").Output()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := probe.Decode[probe.Entry](bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	says := regexp.MustCompile(`([0-9]),([0-9]00)\sprobes on both modules`).FindAllSubmatch(readme, -1)
	if len(says) != 2 {
		t.Fatalf("README says it %d times, want 2", len(says))
	}
	for _, m := range says {
		if n, _ := strconv.Atoi(string(m[1]) + string(m[2])); n != len(entries)/100*100 {
			t.Errorf("README says %d, there are %d probes", n, len(entries))
		}
	}
}

// TestBehavioursHaveTests looks for the tests that behaviours.md names, each behind its
// package.
func TestBehavioursHaveTests(t *testing.T) {
	text, err := os.ReadFile("behaviours.md")
	if err != nil {
		t.Fatal(err)
	}
	there := make(map[string]bool)
	decl := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		pkg, err := filepath.Rel("..", filepath.Dir(path))
		if err != nil {
			return err
		}
		if pkg == "." {
			pkg = "grpc"
		}
		source, err := os.ReadFile(path)
		for _, m := range decl.FindAllSubmatch(source, -1) {
			there[filepath.ToSlash(pkg)+" "+string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, list := range regexp.MustCompile(`([\w/]+) (Test\w+(?:, Test\w+)*)`).FindAllStringSubmatch(string(text), -1) {
		for name := range strings.SplitSeq(list[2], ", ") {
			named++
			if !there[list[1]+" "+name] {
				t.Errorf("there is no %s in package %s", name, list[1])
			}
		}
	}
	if all := len(regexp.MustCompile(`\bTest\w+`).FindAllString(string(text), -1)); named != all {
		t.Errorf("%d of %d tests are not behind the name of a package", all-named, all)
	}
}

func TestCauseOfDeath(t *testing.T) {
	err := errors.New("exit status 2")
	for _, c := range []struct{ stderr, want string }{
		{"", "exit status 2"},
		{"a log line\npanic: no\n\ngoroutine 1 [running]:\n", "panic: no"},
		{"fatal error: all goroutines are asleep\n", "fatal error: all goroutines are asleep"},
	} {
		if got := causeOfDeath(c.stderr, err); got != c.want {
			t.Errorf("causeOfDeath(%q) = %q, want %q", c.stderr, got, c.want)
		}
	}
}

func TestEnvironHidesSettings(t *testing.T) {
	t.Setenv("GRPC_GO_LOG_SEVERITY_LEVEL", "info")
	t.Setenv("https_proxy", "http://localhost:1")
	t.Setenv("PARITY_KEEP", "1")
	env := environ()
	if slices.Contains(env, "GRPC_GO_LOG_SEVERITY_LEVEL=info") || slices.Contains(env, "https_proxy=http://localhost:1") {
		t.Errorf("probes see variables that steer the modules: %q", env)
	}
	if !slices.Contains(env, "PARITY_KEEP=1") {
		t.Error("probes don't see the rest of the environment")
	}
}

// TestCampaignUnheard: whoever has said nothing on a side is told apart from who printed nothing.
func TestCampaignUnheard(t *testing.T) {
	entries := []probe.Entry{{Name: "said"}, {Name: "empty"}, {Name: "died"}, {Name: "not chosen"}}
	c := newCampaign([sides]build{}, entries, options{pattern: regexp.MustCompile("^(said|empty|died)$")})
	c.lines[ours]["said"], c.lines[ours]["empty"] = []string{"0"}, nil
	if got, want := c.unheard(ours, c.chosen), []string{"died"}; !slices.Equal(got, want) {
		t.Errorf("unheard: %q, want %q", got, want)
	}
}

func TestSetBetween(t *testing.T) {
	for text, want := range map[string][sides]string{
		"v1.2.0,v1.3.0": {ours: "v1.3.0", published: "v1.2.0"},
		"v1.2.0":        {},
		"1.2.0,1.3.0":   {},
	} {
		var o options
		err := o.setBetween(text)
		if o.releases != want || (err == nil) != o.between() {
			t.Errorf("%q: %v, %v", text, o.releases, err)
		}
	}
}
