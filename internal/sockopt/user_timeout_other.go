// SPDX-License-Identifier: Apache-2.0

//go:build !darwin && !freebsd && !linux && !solaris && !windows

package sockopt

import (
	"errors"
	"time"
)

const hasUserTimeout = false

func setUserTimeout(uintptr, time.Duration) error { return errors.ErrUnsupported }
