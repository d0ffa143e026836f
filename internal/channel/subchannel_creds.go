// SPDX-License-Identifier: Apache-2.0

package channel

import "google.golang.org/grpc/credentials"

// bundled returns the credentials of RPCs that come with the transport's; nil for none.
func (sub *Subchannel) bundled() credentials.PerRPCCredentials {
	if sub.creds != nil {
		return sub.creds.perRPC
	}
	return sub.ch.opts.Bundled
}

// needsSecrecy says that RPCs on the subchannel carry what only the server may see.
func (sub *Subchannel) needsSecrecy() bool {
	for _, c := range sub.ch.opts.PerRPC {
		if c.RequireTransportSecurity() {
			return true
		}
	}
	c := sub.bundled()
	return c != nil && c.RequireTransportSecurity()
}
