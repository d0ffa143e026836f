// SPDX-License-Identifier: Apache-2.0

//go:build !race

package debugpage

// raceEnabled says that allocations are not worth counting.
const raceEnabled = false
