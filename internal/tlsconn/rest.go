// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import "google.golang.org/grpc/internal/tlsconn/keyrest"

// rest makes c hold only its keys until there are records again, unless those come now and then: see vigil.
// Only the reader calls it. After a write that comes meanwhile, wrote puts the cipher to rest.
func (c *Conn) rest() {
	if !c.rests {
		return
	}
	if c.keeps() {
		c.intake.left.Store(ready)
		return
	}
	c.intake.left.Store(atRest)
	in, out := keyrest.Halves(c.tls)
	in.Rest()
	out.Rest()
}

// keeps reports whether the ciphers of c are kept now that its reader leaves it alone.
func (c *Conn) keeps() bool {
	in := &c.intake
	switch {
	case in.vigil != nil:
		in.vigil.Touch()
	case in.wakes < wakesBefore:
		return false
	default:
		in.vigil = &vigil{over: c.quiet}
		vigils.Add(&in.vigil.Entry, in.vigil)
	}
	return true
}

// quiet is called at the end of a vigil in which nothing has come for a while. The caller holds no lock.
func (c *Conn) quiet(v *vigil) {
	if !c.rmu.TryLock() { // somebody reads
		vigils.Add(&v.Entry, v)
		if v.ended.Load() { // nobody else would remove it
			vigils.Remove(&v.Entry)
		}
		return
	}
	defer c.rmu.Unlock()
	if c.intake.vigil != v {
		return // closed
	}
	c.intake.endVigil()
	if c.intake.left.Load() == ready {
		c.rest()
	}
}

// wrote is called after a write.
func (c *Conn) wrote() {
	if c.intake.left.Load() == atRest {
		_, out := keyrest.Halves(c.tls)
		out.Rest()
	}
}
