// SPDX-License-Identifier: Apache-2.0

// Package wrappers has the kinds of wrapper that programs put around their connections, for
// tests to run over each of them. It is for tests only.
package wrappers
