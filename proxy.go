// SPDX-License-Identifier: Apache-2.0

package grpc

// settleProxy decides whether the channel's connections go through a proxy.
func (cc *ClientConn) settleProxy() error { return nil }
