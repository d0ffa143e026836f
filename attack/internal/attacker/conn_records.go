// SPDX-License-Identifier: Apache-2.0

package attacker

import "errors"

var errNoRecords = errors.New("this connection has no TLS records")

// Record sends a record of TLS 1.3, behind what was collected: its type, what it carries, and
// how many zeros of padding.
func (c *Conn) Record(typ byte, plain []byte, pad int) error {
	return c.records(func(r *records) error { return r.record(typ, plain, pad) })
}

// KeyUpdate sends a KeyUpdate, behind what was collected, which may want one in answer.
func (c *Conn) KeyUpdate(answer bool) error {
	return c.records(func(r *records) error {
		if answer {
			return r.keyUpdate(1)
		}
		return r.keyUpdate(0)
	})
}

func (c *Conn) records(do func(*records) error) error {
	r, ok := c.nc.(*records)
	if !ok {
		return errNoRecords
	}
	if len(c.out) > 0 {
		if err := c.Flush(); err != nil {
			return err
		}
	}
	return do(r)
}
