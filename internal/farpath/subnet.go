// SPDX-License-Identifier: Apache-2.0

package farpath

import "net/netip"

// subnet has the addresses of a path. Nobody else sees them: they are in namespaces of their own.
var subnet = netip.MustParsePrefix("10.213.0.0/24")

// nth is the n-th address of a path.
func nth(n byte) netip.Addr {
	a := subnet.Addr().As4()
	a[3] = n
	return netip.AddrFrom4(a)
}
