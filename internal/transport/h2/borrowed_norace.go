// SPDX-License-Identifier: Apache-2.0

//go:build !race

package h2

// raceRead does nothing in a build without race detector.
func raceRead([]byte) {}
