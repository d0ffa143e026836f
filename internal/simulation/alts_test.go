// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bytes"

	"google.golang.org/grpc/internal/altsconn"
)

// altsKey is what a handshake would have agreed on.
var altsKey = bytes.Repeat([]byte{7}, altsconn.KeySize(altsconn.AES128GCMRekey))

// sealed is a socket below the records of ALTS. There is no handshake: that is a service's. Of what a full
// socket does not take the rest stays in package altsconn, sealed.
func (s *socket) sealed() *recordsEnd {
	s.below = true
	cfg := altsconn.Config{Side: altsconn.Client, Protocol: altsconn.AES128GCMRekey, Key: altsKey, Pool: s.w.pool}
	if s.name[0] == 's' {
		cfg.Side = altsconn.Server
	}
	c, ok, err := altsconn.Over(s, cfg)
	if err != nil || !ok {
		panic("a socket of the simulation is none for ALTS")
	}
	s.w.reach(recordsSealed)
	return &recordsEnd{layer: c, s: s}
}
