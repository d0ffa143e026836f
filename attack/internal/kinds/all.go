// SPDX-License-Identifier: Apache-2.0

package kinds

import "slices"

// All returns all kinds, those against servers first.
func All() []Kind {
	return slices.Concat(
		settingsKinds, pingKinds, resetKinds, headerKinds, requestKinds, dataKinds, windowKinds,
		frameKinds, connectionKinds, httpKinds, portKinds, tlsKinds, tlsRecordKinds, altsKinds, altsRecordKinds,
		clientControlKinds, clientStreamKinds, clientHeaderKinds, clientDataKinds, clientConnectionKinds,
		clientRecordKinds,
	)
}
