// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestChanges(t *testing.T) {
	got := changes([]string{"a", "b", "d"}, []string{"b", "c", "a2"})
	if want := []string{"new: a2", "new: c", "gone: a", "gone: d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTestNames(t *testing.T) {
	dir := t.TempDir()
	const file = "package p\n\nfunc TestMain(m *M) {}\nfunc (s) TestMethod(t *T) {}\nfunc TestOne(t *T) {}\nfunc helper() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "x_test.go"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := testNames(dir)
	if want := []string{".: TestMethod", ".: TestOne"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
