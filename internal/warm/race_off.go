// SPDX-License-Identifier: Apache-2.0

//go:build !race

package warm

// raceDetector tells whether this build has the race detector.
const raceDetector = false
