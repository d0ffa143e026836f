// SPDX-License-Identifier: Apache-2.0

package gzip

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"io"
	"sync"
)

// readers has *decoder values, of about 40 KB each.
var readers = sync.Pool{New: func() any { return new(decoder) }}

// decoder is a gzip.Reader that reads from the decoder itself. One assignment to its source then
// drops the reference to the source, which otherwise would stay inside gzip and flate.
type decoder struct {
	flate.Reader // the source
	gz           gzip.Reader
	buffered     *bufio.Reader // for sources without ReadByte; nil until there is such a source
}

func (d *decoder) start(r io.Reader) error {
	if fr, ok := r.(flate.Reader); ok {
		d.Reader = fr
	} else {
		if d.buffered == nil {
			d.buffered = bufio.NewReader(nil)
		}
		d.buffered.Reset(r)
		d.Reader = d.buffered
	}
	return d.gz.Reset(d)
}

func (d *decoder) release() {
	d.Reader = nil
	if d.buffered != nil {
		d.buffered.Reset(nil)
	}
	readers.Put(d)
}

// reader uses a decoder of the pool until an error or io.EOF, gives it back, and then returns that
// error for every Read. reader itself is not pooled, so that a Read after the end does not read
// from a decoder that another reader uses.
type reader struct {
	d   *decoder
	err error // set when d is given back
}

func newReader(from io.Reader) (io.Reader, error) {
	d := readers.Get().(*decoder)
	if err := d.start(from); err != nil {
		d.release()
		return nil, err
	}
	return &reader{d: d}, nil
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.d.gz.Read(p)
	if err != nil {
		r.err = err
		r.d.release()
		r.d = nil
	}
	return n, err
}
