// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !windows

package alts

// onGoogleCloud is false: there are no such machines.
func onGoogleCloud() bool { return false }
