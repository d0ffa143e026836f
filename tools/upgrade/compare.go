// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// api returns the differences in the exported API, by apidiff.
func (c *comparison) api(ctx context.Context, older, newer release) ([]string, error) {
	export := filepath.Join(c.scratch, "export")
	if _, err := output(ctx, older.dir, c.apidiff, "-m", "-w", export, module); err != nil {
		return nil, err
	}
	out, err := output(ctx, newer.dir, c.apidiff, "-m", export, module)
	return apiChanges(out), err
}

// apiChanges parses apidiff's output, and leaves internal packages out.
func apiChanges(text string) (found []string) {
	kind := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(line, "changes:"):
			kind = strings.ToLower(strings.TrimSuffix(line, " changes:"))
		case strings.HasPrefix(line, "- ") && !internalPackage.MatchString(line):
			found = append(found, kind+": "+strings.TrimPrefix(line, "- "))
		}
	}
	return found
}

var internalPackage = regexp.MustCompile(`^- (package )?\S*\binternal\b`)

// variable matches names like those of gRPC's environment variables.
var variable = regexp.MustCompile(`^(GRPC|GRPCGO|GOOGLE|GCE|CSM|XDS|ALTS|OTEL)_[A-Z0-9_]+$`)

// environment returns the differences in the names of environment variables in the compiled
// packages.
func (c *comparison) environment(ctx context.Context, older, newer release) ([]string, error) {
	was, err := namedVariables(ctx, older.dir)
	if err != nil {
		return nil, err
	}
	is, err := namedVariables(ctx, newer.dir)
	return changes(was, is), err
}

// namedVariables returns the names of environment variables among the string constants of the
// compiled packages.
func namedVariables(ctx context.Context, dir string) (found []string, err error) {
	out, err := output(ctx, dir, "go", "list", "-export", "-f", "{{.Export}}", module+"/...")
	if err != nil {
		return nil, err
	}
	for file := range strings.FieldsSeq(out) {
		symbols, err := output(ctx, dir, "go", "tool", "nm", file)
		if err != nil {
			return nil, err
		}
		found = append(found, variablesIn(symbols)...)
	}
	return found, nil
}

// variablesIn returns the names of environment variables among the symbols of a compiled package.
// The symbol of a string constant contains its text, as in go:string."THE TEXT".
func variablesIn(symbols string) (found []string) {
	for line := range strings.Lines(symbols) {
		_, text, ok := strings.Cut(strings.TrimSpace(line), `go:string."`)
		if name := strings.TrimSuffix(text, `"`); ok && variable.MatchString(name) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// differingProbes runs the probes of ./parity with both releases, and returns those that print
// something else.
func (c *comparison) differingProbes(ctx context.Context) ([]string, error) {
	if !c.probes {
		return nil, nil
	}
	// The command exits with 1 if there is a difference. Here that is not an error.
	out, err := output(ctx, filepath.Join(c.top, "parity"), "go", "run", ".", "-between", c.from+","+c.to)
	found := probesIn(out)
	if len(found) > 0 {
		err = nil
	}
	return found, err
}

// probesIn parses the output of the command parity: the line of a probe, and the indented lines
// after it.
func probesIn(text string) (found []string) {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "DIFFERENT "); ok {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " (- ")
			found = append(found, name+"\n")
		} else if strings.HasPrefix(line, "    ") && len(found) > 0 {
			found[len(found)-1] += strings.TrimPrefix(line, "    ")
		}
	}
	return found
}

var (
	proposal = regexp.MustCompile(`^([AL]\d+)-(.+)\.md$`)
	status   = regexp.MustCompile(`(?mi)^[ \t*-]*(status|implemented in|last updated)[ \t*]*:[ \t*]*(.*)$`)
)

// unnamedProposals returns the gRFCs whose numbers are in no file of this repository.
func (c *comparison) unnamedProposals() (found []string, err error) {
	if c.grfc == "" {
		return nil, nil
	}
	named, err := c.namedProposals()
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(c.grfc)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		m := proposal.FindStringSubmatch(f.Name())
		if m == nil || named[m[1]] {
			continue
		}
		text, err := os.ReadFile(filepath.Join(c.grfc, f.Name()))
		if err != nil {
			return found, err
		}
		found = append(found, m[1]+" "+strings.ReplaceAll(m[2], "-", " ")+": "+statusOf(string(text)))
	}
	return found, nil
}

// statusOf returns the status, the implementations and the date in the head of a gRFC.
func statusOf(text string) string {
	var said []string
	for _, m := range status.FindAllStringSubmatch(text[:min(len(text), 2000)], -1) {
		said = append(said, strings.ToLower(m[1])+" "+strings.TrimSpace(m[2]))
	}
	return strings.Join(said, "; ")
}

func (c *comparison) namedProposals() (map[string]bool, error) {
	named := map[string]bool{}
	err := c.eachFile(func(name, text string) {
		for _, m := range regexp.MustCompile(`\b[AL]\d+\b`).FindAllString(text, -1) {
			named[m] = true
		}
	}, ".go", ".md", ".txt")
	return named, err
}

// places returns the files that name the release.
func (c *comparison) places() (found []string, err error) {
	version := regexp.MustCompile(`google\.golang\.org/grpc ` + regexp.QuoteMeta(c.from) + `\b`)
	err = c.eachFile(func(name, text string) {
		if version.MatchString(text) {
			found = append(found, name)
		}
	}, ".mod", ".txt")
	return append(found, "version.go", "README.md: tables, after they were measured", "CHANGELOG.md"), err
}

// eachFile calls f for each file of this repository whose name ends in one of endings.
func (c *comparison) eachFile(f func(name, text string), endings ...string) error {
	return filepath.WalkDir(c.top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "out"):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(endings, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(c.top, path)
		f(filepath.ToSlash(name), string(text))
		return err
	})
}
