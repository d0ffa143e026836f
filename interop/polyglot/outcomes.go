// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// outcomes counts how calls under load ended. The key is "OK", or the code in the text of the
// error, because texts of the same error may differ. If a text has no code, the text is the key.
type outcomes map[string]int

// codeNames matches the names of codes as the languages spell them.
var codeNames = regexp.MustCompile(`(?i)\b(CANCELL?ED|UNKNOWN|INVALID_?ARGUMENT|DEADLINE_?EXCEEDED|NOT_?FOUND|ALREADY_?EXISTS|` +
	`PERMISSION_?DENIED|RESOURCE_?EXHAUSTED|FAILED_?PRECONDITION|ABORTED|OUT_?OF_?RANGE|UNIMPLEMENTED|INTERNAL|UNAVAILABLE|DATA_?LOSS|UNAUTHENTICATED)\b`)

const unavailable = "unavailable"

func (o outcomes) add(text string, n int) {
	if name := codeNames.FindString(text); name != "" {
		text = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	}
	o[text] += n
}

// merge adds the counts of another run.
func (o outcomes) merge(more outcomes) {
	for kind, n := range more {
		o[kind] += n
	}
}

func (o outcomes) String() string {
	parts := []string{fmt.Sprintf("%d OK", o["OK"])}
	for _, kind := range sorted(o) {
		if kind != "OK" {
			parts = append(parts, fmt.Sprintf("%d %s", o[kind], kind))
		}
	}
	return strings.Join(parts, ", ")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
