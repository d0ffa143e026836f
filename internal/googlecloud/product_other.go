// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !windows

package googlecloud

// productName is nothing: there are no such machines.
func productName() (string, error) { return "", nil }
