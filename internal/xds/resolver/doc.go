// SPDX-License-Identifier: Apache-2.0

// Package resolver resolves targets of scheme xds (gRFC A27, A31, A47): it tells the channel which
// clusters there are, and chooses one of them for each RPC.
//
// # One clock
//
// Whatever changes what the channel knows runs in the work of a [Resolver], one thing at a time:
// configurations of the dependency manager, and the clearing away of clusters that no RPC needs
// any more. There is no goroutine while there is no work.
//
// # How long a cluster stays
//
// A cluster is counted: once by the selector that the channel uses, if its routes name it, and
// once by each RPC that was sent there and may still pick. The policy of a cluster, and the
// watch of its resource, are kept until the count is 0 (A31, A74), so that an RPC finds what was
// chosen for it, whatever control planes say meanwhile.
//
// # Nothing to go by
//
// While there is no Listener, no RouteConfiguration or no virtual host for the channel, the RPCs
// that begin get no cluster: they fail with Unavailable, and those that wait for ready wait. When
// there are routes again, these are chosen for anew.
package resolver
