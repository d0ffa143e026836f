// SPDX-License-Identifier: Apache-2.0

package grpc

import "google.golang.org/grpc/credentials"

// subConnCreds are the credentials that a balancer gave a subchannel of its own. They
// stand in for the channel's bundle; what is nil does not.
type subConnCreds struct {
	transport credentials.TransportCredentials
	perRPC    credentials.PerRPCCredentials
}

// bundled returns the credentials of RPCs that come with the transport's; nil for none.
func (ac *addrConn) bundled() credentials.PerRPCCredentials {
	if ac.creds != nil {
		return ac.creds.perRPC
	}
	return ac.cc.opts.bundled
}

// needsSecrecy says that RPCs on the subchannel carry what only the server may see.
func (ac *addrConn) needsSecrecy() bool {
	for _, c := range ac.cc.opts.perRPC {
		if c.RequireTransportSecurity() {
			return true
		}
	}
	c := ac.bundled()
	return c != nil && c.RequireTransportSecurity()
}
