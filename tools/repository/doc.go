// SPDX-License-Identifier: Apache-2.0

// Package repository has tests of facts that belong to no package: which version this module
// replaces, that the public workflows run all checks that a change has to pass, and that the lists of files
// in the documentation of packages are complete.
package repository
