// SPDX-License-Identifier: Apache-2.0

package protocol

// Waiter waits for something. Wake is called once, by a holder of the connection's lock, and
// must use neither that nor a stream of it.
type Waiter interface{ Wake() }
