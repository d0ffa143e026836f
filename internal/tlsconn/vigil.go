// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/park"
)

// What became of the ciphers of a Conn since its reader left it alone.
const (
	inUse  uint32 = iota // there was input since
	ready                // they are kept, and wait for records
	atRest               // only keys are held
)

const (
	// wakesBefore is how many times a connection has to be woken before its ciphers are kept.
	wakesBefore = 3
	// vigilance is how long ciphers are kept while nothing comes: at least that, and at most twice that.
	vigilance = 30 * time.Second
)

// vigil is a connection whose ciphers are kept, because something comes now and then: making them from
// their keys for each call costs more than using them. If nothing has come for a while, the ciphers are put
// to rest.
type vigil struct {
	park.Entry
	over  func(*vigil)
	ended atomic.Bool // set before the sweeper is told to forget it
}

var vigils = park.NewSteadySweeper(vigilance)

// Quiet implements park.Quieter.
func (v *vigil) Quiet() { v.over(v) }
