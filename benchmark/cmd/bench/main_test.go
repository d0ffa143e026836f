// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// What is no command, and what follows the flags of one, is refused, and not taken for the default.
func TestArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"-quick"}, {"idle"}, {"far", "-rtt", "1"}} {
		if _, _, err := command(args); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, name := range []string{"idel", "rates", ""} {
		if _, _, err := command([]string{name, "-quick"}); err == nil || !strings.Contains(err.Error(), "idle, peers, roam") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, parse := range map[string]func([]string) error{
		"rates":     func(args []string) error { _, err := parse(args); return err },
		"broadcast": func(args []string) error { _, err := parseBroadcast(args); return err },
		"far":       func(args []string) error { _, err := parseFar(args); return err },
		"idle":      func(args []string) error { _, err := parseIdle(args); return err },
		"peers":     func(args []string) error { _, err := parsePeers(args); return err },
		"roam":      func(args []string) error { _, err := parseRoam(args); return err },
		"soak":      func(args []string) error { _, err := parseSoak(args); return err },
		"sparse":    func(args []string) error { _, err := parseSparse(args); return err },
	} {
		if err := parse([]string{"more"}); err == nil || !strings.Contains(err.Error(), `"more"`) {
			t.Errorf("%s: %v", name, err)
		}
		if err := parse(nil); err != nil {
			t.Errorf("%s without arguments: %v", name, err)
		}
	}
}
