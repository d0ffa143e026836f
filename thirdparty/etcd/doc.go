// SPDX-License-Identifier: Apache-2.0

// Package etcd lets the etcd client talk to an etcd server that runs in the same process,
// both on this module. It has tests only.
package etcd
