// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// runXDS measures clients that a control plane leads, with a program of the module that has one.
func runXDS(ctx context.Context, args []string) error {
	c := exec.CommandContext(ctx, "go", append([]string{"run", "./bench"}, args...)...)
	c.Dir = filepath.Join("..", "internal", "xds", "test")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}
