// SPDX-License-Identifier: Apache-2.0

// Package cloud lets a program find itself on Google's platform, without which neither
// implementation does ALTS: they tell it by the machine's product name.
package cloud

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Pretend changes a command that was not started so that its program is on the platform,
// in a mount namespace of its own; nothing else on the machine sees that.
func Pretend(cmd *exec.Cmd) error { return pretend(cmd) }

// Here reports whether this program is there.
func Here() bool {
	name, err := os.ReadFile(productName)
	return err == nil && string(name) == "Google\n"
}

// Again runs this program once more, with the same arguments and those in front, on the
// platform.
func Again(ctx context.Context, front ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, append(front, os.Args[1:]...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := Pretend(cmd); err != nil {
		return err
	}
	return cmd.Run()
}

// Check says why Pretend cannot work here, nil if it can.
func Check() error {
	cmd := exec.Command("cat", productName)
	if err := Pretend(cmd); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "Google\n" {
		return fmt.Errorf("ALTS needs Google's platform, and this system does not let a program pretend that it is there: %w: %q", err, out)
	}
	return nil
}
