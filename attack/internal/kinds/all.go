// SPDX-License-Identifier: Apache-2.0

package kinds

import "slices"

// All returns all kinds.
func All() []Kind {
	return slices.Concat(
		settingsKinds, pingKinds, resetKinds, headerKinds, requestKinds, dataKinds, windowKinds,
		frameKinds, connectionKinds, httpKinds, portKinds, tlsKinds, tlsRecordKinds, altsKinds, altsRecordKinds,
		clientControlKinds, clientStreamKinds, clientHeaderKinds, clientDataKinds, clientConnectionKinds,
		clientRecordKinds,
		pageKinds, replyKinds, bombKinds, stateKinds, trailerKinds, signalKinds, amplifierKinds, wrappedKinds,
		proxyKinds, controlKinds, meshKinds, reportKinds, watchedKinds, xdsServerKinds,
	)
}
