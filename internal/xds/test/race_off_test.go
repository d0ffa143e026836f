// SPDX-License-Identifier: Apache-2.0

//go:build !race

package test

// raceEnabled says that everything takes several times as long.
const raceEnabled = false
