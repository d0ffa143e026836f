// SPDX-License-Identifier: Apache-2.0

package readyreader

import "bufio"

// fixed is Buffered with one buffer for the life of the connection, for
// connections that can't wait without one, and where pooling is off.
type fixed struct {
	r *bufio.Reader
}

func (f *fixed) Peek(n int) ([]byte, error) {
	if n < 0 {
		return nil, bufio.ErrNegativeCount
	}
	if n > f.r.Size() {
		return nil, ErrTooLarge
	}
	p, err := f.r.Peek(n)
	if err != nil {
		return nil, endOfStream(err, len(p))
	}
	return p, nil
}

func (f *fixed) Discard(n int) (int, error) { return f.r.Discard(n) }

func (f *fixed) Buffered() int { return f.r.Buffered() }

func (f *fixed) Read(p []byte) (int, error) { return f.r.Read(p) }

// Release drops the bytes. The buffer goes with the connection: bufio has no
// way to give it up.
func (f *fixed) Release() { _, _ = f.r.Discard(f.r.Buffered()) }
