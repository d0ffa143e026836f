// SPDX-License-Identifier: Apache-2.0

// Package cloud lets a program find itself on Google's platform, without which neither
// implementation does ALTS: they tell it by the machine's product name.
//
// Module attack has the same: this one's worker is built with the published module, too, and so
// may not use a package of the module above, which both could.
package cloud

import (
	"fmt"
	"os/exec"
)

// Pretend changes a command that was not started so that its program is on the platform,
// in a mount namespace of its own; nothing else on the machine sees that.
func Pretend(cmd *exec.Cmd) error { return pretend(cmd) }

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
