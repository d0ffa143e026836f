// SPDX-License-Identifier: Apache-2.0

package protocol

// Waiter is something that waits. Its Wake is called once, by a holder of the connection's lock. Wake
// must not use the connection or any of its streams.
type Waiter interface{ Wake() }
