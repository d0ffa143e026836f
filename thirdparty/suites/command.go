// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+dir)
	return cmd
}

// goJSON decodes what the command prints, also when it fails.
func goJSON(ctx context.Context, dir string, into any, args ...string) error {
	cmd := goCommand(ctx, dir, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if len(out) > 0 {
		if err := json.Unmarshal(out, into); err != nil {
			return err
		}
	}
	if err != nil {
		return fmt.Errorf("go %v: %w", args, err)
	}
	return nil
}
