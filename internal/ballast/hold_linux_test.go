// SPDX-License-Identifier: Apache-2.0

//go:build !race

package ballast

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// TestUntouched has a lot of ballast take no pages of the system's.
func TestUntouched(t *testing.T) {
	const much = 512 << 20
	var h hold
	before := resident(t)
	h.fill(much)
	if h.bytes() != much {
		t.Fatalf("holds %d bytes, want %d", h.bytes(), much)
	}
	runtime.GC()
	if grown := resident(t) - before; grown > much/16 {
		t.Errorf("%d bytes of ballast take %d", h.bytes(), grown)
	}
	h.fill(block/2 + 3*block)
	if h.bytes() != 3*block {
		t.Errorf("holds %d bytes, want %d", h.bytes(), 3*block)
	}
	h.fill(0)
	if h.bytes() != 0 {
		t.Errorf("holds %d bytes, want none", h.bytes())
	}
}

// resident is the resident set in bytes.
func resident(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Fscan(bytes.NewReader(b), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
