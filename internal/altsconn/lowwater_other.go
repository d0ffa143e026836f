// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package altsconn

import "errors"

const canSetLowWater = false

func setLowWater(uintptr, int) error { return errors.ErrUnsupported }
