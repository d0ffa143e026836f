// SPDX-License-Identifier: Apache-2.0

package checkout

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPublishedVersion(t *testing.T) {
	for text, want := range map[string]string{
		"package grpc\n\n// Version ...\nconst Version = \"1.2.3\"\n\nconst X = \"4.5.6\"\n": "v1.2.3",
		"package grpc\n\nconst Other = \"1.2.3\"\n":                                          "",
	} {
		top := t.TempDir()
		if err := os.WriteFile(filepath.Join(top, "version.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := PublishedVersion(top); got != want || (err == nil) != (want != "") {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if _, err := PublishedVersion(t.TempDir()); err == nil {
		t.Error("a folder without version.go has a version")
	}
}
