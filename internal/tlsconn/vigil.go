// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"time"

	"google.golang.org/grpc/internal/park"
)

// What became of the ciphers of a Conn since its reader left it alone.
const (
	inUse  uint32 = iota // it did not: there was input since
	ready                // they wait for records
	atRest               // only keys are held
)

const (
	// wakesBefore is how often a connection has to be woken for its ciphers to be kept.
	wakesBefore = 3
	// vigilance is how long they are kept at least, twice that at most, while nothing comes.
	vigilance = 30 * time.Second
)

// vigil is a connection whose ciphers are kept, as something comes now and then: to make them from
// their keys for each call costs more than to use them. Where nothing has come for a while they
// are put to rest.
type vigil struct {
	park.Entry
	over func(*vigil)
}

var vigils = park.NewSteadySweeper(vigilance)

// Quiet implements park.Quieter.
func (v *vigil) Quiet() { v.over(v) }
