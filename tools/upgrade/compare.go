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

// api asks apidiff what programs see of the exported names that differ.
func (c *comparison) api(ctx context.Context, older, newer release) ([]string, error) {
	export := filepath.Join(c.scratch, "export")
	if _, err := output(ctx, older.dir, c.apidiff, "-m", "-w", export, module); err != nil {
		return nil, err
	}
	out, err := output(ctx, newer.dir, c.apidiff, "-m", export, module)
	return apiChanges(out), err
}

// apiChanges reads what apidiff prints, and leaves internal packages out.
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

// variable is the name of an environment variable, as those of gRPC are named.
var variable = regexp.MustCompile(`^(GRPC|GRPCGO|GOOGLE|GCE|CSM|XDS|ALTS|OTEL)_[A-Z0-9_]+$`)

// environment compares the variables that the compiled packages name.
func (c *comparison) environment(ctx context.Context, older, newer release) ([]string, error) {
	was, err := namedVariables(ctx, older.dir)
	if err != nil {
		return nil, err
	}
	is, err := namedVariables(ctx, newer.dir)
	return changes(was, is), err
}

// namedVariables looks for names of variables among the string constants of compiled packages.
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

// variablesIn reads the symbols of a compiled package: those of string constants are named after
// their text, such as go:string."THE TEXT".
func variablesIn(symbols string) (found []string) {
	for line := range strings.Lines(symbols) {
		_, text, ok := strings.Cut(strings.TrimSpace(line), `go:string."`)
		if name := strings.TrimSuffix(text, `"`); ok && variable.MatchString(name) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// differingProbes runs those of ./parity with both releases.
func (c *comparison) differingProbes(ctx context.Context) ([]string, error) {
	if !c.probes {
		return nil, nil
	}
	// It exits with 1 where there is a difference, which is what is asked for.
	out, err := output(ctx, filepath.Join(c.top, "parity"), "go", "run", ".", "-between", c.from+","+c.to)
	found := probesIn(out)
	if len(found) > 0 {
		err = nil
	}
	return found, err
}

// probesIn reads what the command parity prints: the line of a probe, and its indented lines.
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

// unnamedProposals are gRFCs whose number no file of this repository has.
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

// statusOf is what the head of a gRFC says of it.
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

// places are the files that name the release.
func (c *comparison) places() (found []string, err error) {
	version := regexp.MustCompile(`google\.golang\.org/grpc ` + regexp.QuoteMeta(c.from) + `\b`)
	err = c.eachFile(func(name, text string) {
		if version.MatchString(text) {
			found = append(found, name)
		}
	}, ".mod", ".txt")
	return append(found, "version.go", "README.md: tables, after they were measured", "CHANGELOG.md"), err
}

// eachFile calls f with each file of this repository that ends in one of endings.
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
