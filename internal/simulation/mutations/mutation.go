// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// mutation is a fault: the lines old of the code, which new replaces.
type mutation struct {
	name     string
	where    string // the folder or file that has the lines
	old, new []string
}

// parse parses the text of mutations.txt.
func parse(text string) (all []mutation, err error) {
	for i, line := range strings.Split(text, "\n") {
		m := &mutation{}
		if len(all) > 0 {
			m = &all[len(all)-1]
		}
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "== "):
			all = append(all, mutation{name: line[3:]})
		case strings.HasPrefix(line, "@ "):
			m.where = line[2:]
		case strings.HasPrefix(line, "- "):
			m.old = append(m.old, strings.TrimSpace(line[2:]))
		case strings.HasPrefix(line, "+ "):
			m.new = append(m.new, line[2:])
		default:
			return nil, fmt.Errorf("line %d: %q is nothing of a mutation", i+1, line)
		}
	}
	return all, nil
}

// apply returns the path of the file that has the old lines, and its text with the new ones.
func (m mutation) apply() (file, changed string, err error) {
	err = filepath.WalkDir(m.where, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		next, n := m.replace(strings.Split(string(text), "\n"))
		if n > 1 || n == 1 && file != "" {
			return fmt.Errorf("the text is there more than once, in %s", path)
		}
		if n == 1 {
			file, changed = path, next
		}
		return nil
	})
	if err == nil && file == "" {
		err = fmt.Errorf("the text is not in %s", m.where)
	}
	return file, changed, err
}

// replace returns the text with the new lines in place of the old ones, and how many times the old
// ones were there.
func (m mutation) replace(lines []string) (text string, times int) {
	var out []string
	for i := 0; i < len(lines); i++ {
		if m.stands(lines[i:]) {
			out = append(out, m.new...)
			i += len(m.old) - 1
			times++
			continue
		}
		out = append(out, lines[i])
	}
	return strings.Join(out, "\n"), times
}

func (m mutation) stands(lines []string) bool {
	if len(lines) < len(m.old) {
		return false
	}
	for i, l := range m.old {
		if strings.TrimSpace(lines[i]) != l {
			return false
		}
	}
	return true
}
