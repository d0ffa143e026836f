// SPDX-License-Identifier: Apache-2.0

// Package dependency assembles what a channel needs from xDS (gRFC A74): the Listener, its
// routes, their clusters, and the endpoints of these. A [Manager] watches all of these
// resources. It delivers a [Config] only when nothing is missing, so that a change of several
// resources takes effect at once.
//
// Parts that do not change from one Config to the next are the same pointers. The receiver of a
// Config can find out what is new by comparing pointers.
//
// # Locks and goroutines
//
// One mutex guards all watches. A change of a resource is only recorded. A goroutine that exists
// only while there are changes assembles a Config afterwards; a thousand changes that come at
// once make one Config. A Manager holds no goroutine while nothing changes. Neither do the names
// that it has resolved (package resolver/dns).
package dependency
