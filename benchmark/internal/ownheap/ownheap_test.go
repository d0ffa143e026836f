// SPDX-License-Identifier: Apache-2.0

package ownheap

import (
	"runtime"
	"testing"
)

func TestHold(t *testing.T) {
	defer func() { kept = nil }()
	t.Setenv(Variable, "8")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := Hold(); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n < 8<<20 || n > 9<<20 {
		t.Errorf("a heap of 8 MiB takes %d bytes", n)
	}
	for _, bad := range []string{"-1", "a", "16384"} {
		t.Setenv(Variable, bad)
		if Hold() == nil {
			t.Errorf("%s=%s is taken", Variable, bad)
		}
	}
}
