// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package testutils

import "time"

var began = time.Now()

// CPUTime returns the time that has passed: what the process has used of it is not known here.
func CPUTime() time.Duration { return time.Since(began) }
