// SPDX-License-Identifier: Apache-2.0

package channel

import "google.golang.org/grpc/credentials"

// bundle returns the bundle that supplies the credentials of each new connection, or nil if there
// is none. The bundle may return other credentials each time, for instance when a certificate was
// replaced.
func (sub *Subchannel) bundle() credentials.Bundle {
	if sub.creds != nil {
		return sub.creds.bundle
	}
	return sub.ch.opts.Bundle
}

// needsSecrecy reports whether RPCs on the connection carry credentials that require transport
// security.
func (l *Link) needsSecrecy() bool {
	for _, c := range l.sub.ch.opts.PerRPC {
		if c.RequireTransportSecurity() {
			return true
		}
	}
	return l.bundled != nil && (*l.bundled).RequireTransportSecurity()
}
