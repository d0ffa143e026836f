// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !windows

package googlecloud

// productName returns "": Google Cloud has no machines with these systems.
func productName() (string, error) { return "", nil }
