// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sample

import "time"

// machineTime is not known on this system.
func machineTime() (busy, all, own time.Duration, ok bool) { return 0, 0, 0, false }
