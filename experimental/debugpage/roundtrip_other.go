// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package debugpage

import (
	"syscall"
	"time"
)

// roundTrip is not known here.
func roundTrip(syscall.RawConn) time.Duration { return 0 }
