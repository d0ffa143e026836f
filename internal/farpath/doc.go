// SPDX-License-Identifier: Apache-2.0

// Package farpath makes a far path on one machine: two network namespaces, a TUN device in
// each, and a forwarder that carries packets between them as a [Shape] says: later, no faster
// than a rate, through a queue, with some lost or out of order. The link can go down and come
// back. Whatever runs TCP in the two namespaces has the system's own, with its congestion
// control.
//
// It takes Linux, and root or a user namespace; [Available] says what is missing. Nothing
// outside of the two namespaces is changed.
//
// The devices hand over what TCP sends as large packets that the system would cut into
// segments last (TSO), so that a processor carries more than a GB/s. The forwarder counts, drops
// and queues segments all the same: it cuts a packet where one of its segments is lost, or no longer
// fits. What came whole travels whole, and arrives when its last segment does.
//
// From top to bottom: a Path (path_linux.go) has two Ends (end_linux.go: a namespace and its
// device), and carries each direction with a carrier (carrier_linux.go: the loop that reads,
// holds and writes). What happens to a packet is pure: line.go decides it, with the clock as an
// argument, held.go keeps packets until they are due, and packet.go cuts them.
package farpath
