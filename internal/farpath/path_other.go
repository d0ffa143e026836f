// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package farpath

import "errors"

// Available says why there can be no path here.
func Available() error { return errors.New("a far path takes Linux") }
