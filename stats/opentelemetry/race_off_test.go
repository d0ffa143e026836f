// SPDX-License-Identifier: Apache-2.0

//go:build !race

package opentelemetry_test

// raceEnabled says that allocations are not worth counting.
const raceEnabled = false
