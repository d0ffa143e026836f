// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestBeside: each test of all modules stands beside what it is named after.
func TestBeside(t *testing.T) {
	found, err := lonely("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("%s is named after nothing that stands beside it", f)
	}
}

func TestHas(t *testing.T) {
	f := folder{path: "a/b", pkg: "p", stems: []string{"conn", "poller_linux"}}
	for test, want := range map[string]bool{
		"conn": true, "conn_alloc": true, "p": true, "p_fuzz": true, "b": true,
		"poller": true, "poller_linux": true,
		"connection": false, "alloc": false, "con": false,
	} {
		if got := f.has(test); got != want {
			t.Errorf("%s_test.go: %v, want %v", test, got, want)
		}
	}
}
