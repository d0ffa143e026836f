// SPDX-License-Identifier: Apache-2.0

// Package dependency puts together what a channel needs to know of xDS (gRFC A74): from its
// Listener to the routes, from these to clusters, from these to endpoints. A [Manager] watches
// all of it, and hands on a [Config] only when nothing is missing, so that a change which takes
// several resources takes effect at once.
//
// What does not change between two Configs are the same pointers: whoever gets one sees what is
// new by comparing them.
//
// # Locks and goroutines
//
// One mutex guards all watches. Whatever is heard is noted, and put together afterwards, by a
// goroutine that lives while there is something to put together: of a thousand changes that come
// at once it makes one Config. A Manager that hears nothing holds no goroutine; nor do the
// names it has resolved (package resolver/dns).
package dependency
