// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// script is what a shell script that tests pairs of programs says of them, in its arrays.
// That of the published examples is the one there is.
type script struct {
	// names are the folders of the pairs.
	names []string
	// lists are its associative arrays by their names.
	lists map[string]map[string]string
	// env is what the programs have in their environment beside the runner's.
	env []string
}

var (
	namesIn = regexp.MustCompile(`(?s)EXAMPLES=\((.*?)\n\)`)
	listsIn = regexp.MustCompile(`(?s)declare -A (\w+)=\((.*?)\n\)`)
	quoted  = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	entryIn = regexp.MustCompile(`\["([^"]+)"\]="((?:[^"\\]|\\.)*)"`)
	exports = regexp.MustCompile(`(?m)^export (\w+)=([\w./-]+)$`)
)

// readScript finds the arrays. Variables that the script sets to plain words, and the
// script's own folder, are filled in.
func readScript(text, dir string) (*script, error) {
	fill := []string{"$(dirname $(realpath \"$0\"))", dir, `\"`, `"`, `\[`, `[`, `\]`, `]`}
	for _, m := range exports.FindAllStringSubmatch(text, -1) {
		fill = append(fill, "$"+m[1], m[2])
	}
	// The folder has quotes of its own, so that it goes first.
	text = strings.ReplaceAll(text, fill[0], dir)
	words := strings.NewReplacer(fill[2:]...)
	names := namesIn.FindStringSubmatch(text)
	if names == nil {
		return nil, fmt.Errorf("the script names no examples")
	}
	s := &script{lists: make(map[string]map[string]string)}
	for _, m := range quoted.FindAllStringSubmatch(names[1], -1) {
		s.names = append(s.names, m[1])
	}
	for _, m := range listsIn.FindAllStringSubmatch(text, -1) {
		list := make(map[string]string)
		for _, e := range entryIn.FindAllStringSubmatch(m[2], -1) {
			list[e[1]] = words.Replace(e[2])
		}
		s.lists[m[1]] = list
	}
	return s, nil
}

// of returns an entry of a list, or the list's default.
func (s *script) of(list, name string) string {
	if value, ok := s.lists[list][name]; ok {
		return value
	}
	return s.lists[list]["default"]
}
