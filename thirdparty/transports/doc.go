// SPDX-License-Identifier: Apache-2.0

// Package transports puts what other projects make of connections below gRPC: ports that
// several protocols share, multiplexers, SSH, WebSocket, the PROXY protocol, net/http. It
// has tests only, which use no more than both modules have, so that they can be run on the
// published one, too.
package transports
