// SPDX-License-Identifier: Apache-2.0

// Package resolver resolves targets of scheme xds (gRFC A27, A31, A47). It tells the channel which
// clusters there are, and chooses one of them for each RPC.
//
// # One serializer
//
// Everything that changes what the channel knows runs in the serializer work of a [Resolver], one
// function at a time. That is the updates of the dependency manager, and the removal of clusters
// that no RPC needs any more. There is no goroutine while there is no work.
//
// # How long a cluster stays
//
// A cluster has a count of its uses. The selector in use counts once for each time that its routes
// name the cluster. Each RPC that was sent to the cluster and may still pick counts once. The
// policy of a cluster, and the watch of its resource, are kept until the count is 0 (A31, A74), so
// that an RPC finds the cluster that was chosen for it, even if the control plane has removed the
// cluster from the routes meanwhile.
//
// # While there are no routes
//
// While there is no Listener, no RouteConfiguration or no virtual host for the channel, new RPCs
// get no cluster. They fail with Unavailable, except those that wait for ready, which wait. When
// there are routes again, the selector chooses a cluster for these.
package resolver
