// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"path/filepath"
	"runtime"

	"google.golang.org/grpc/internal/checkout"
)

// program is the path of a program that is built.
func program(root, name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(filepath.Dir(root), "out", "benchmark", name)
}

var checkedOut = checkout.Program{Name: "benchmark", Mark: "cmd/bench/main.go"}

// Root is the folder of this module.
func Root() (string, error) { return checkedOut.Root() }

// OutDir is the folder for results, which is made when it does not exist.
func OutDir() (string, error) { return checkedOut.Out() }

// publishedVersion returns the release that is measured beside this module; "" where it can't be
// found, so that a label is never wrong.
func publishedVersion() string {
	root, err := Root()
	if err != nil {
		return ""
	}
	version, err := checkout.PublishedVersion(filepath.Dir(root))
	if err != nil {
		return ""
	}
	return version
}
