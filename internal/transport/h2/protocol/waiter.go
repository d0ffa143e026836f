// SPDX-License-Identifier: Apache-2.0

package protocol

// Waiter waits for something. Wake is called once, by whoever holds the lock of the connection, and
// must use neither that nor a stream of it.
type Waiter interface{ Wake() }
