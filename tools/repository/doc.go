// SPDX-License-Identifier: Apache-2.0

// Package repository has tests of what no package owns: which version this module stands in for,
// and that the public workflows run what a change has to pass.
package repository
