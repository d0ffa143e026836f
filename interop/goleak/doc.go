// SPDX-License-Identifier: Apache-2.0

// Package goleak tests that this module leaves no goroutines behind, in the ways in which the tests
// of programs do: with go.uber.org/goleak and its default options, and with runtime.NumGoroutine. It
// is a module of its own, so that other modules need not require goleak.
package goleak
