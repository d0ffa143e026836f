// SPDX-License-Identifier: Apache-2.0

// Package goleak looks for goroutines as the leak tests of programs do: by go.uber.org/goleak with
// its default options, and by runtime.NumGoroutine. It is a module of its own, so that the others
// need no goleak.
package goleak
