// SPDX-License-Identifier: Apache-2.0

package channel

import "google.golang.org/grpc/credentials"

// bundle is what is asked for the credentials of each connection, as it is made: they may be others
// each time, such as those of a certificate that was replaced. nil: there is none.
func (sub *Subchannel) bundle() credentials.Bundle {
	if sub.creds != nil {
		return sub.creds.bundle
	}
	return sub.ch.opts.Bundle
}

// needsSecrecy says that RPCs on the connection carry what only the server may see.
func (l *Link) needsSecrecy() bool {
	for _, c := range l.sub.ch.opts.PerRPC {
		if c.RequireTransportSecurity() {
			return true
		}
	}
	return l.bundled != nil && (*l.bundled).RequireTransportSecurity()
}
