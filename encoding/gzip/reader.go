// SPDX-License-Identifier: Apache-2.0

package gzip

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"io"
	"sync"
)

// readers hold *decoder (about 40 KB each).
var readers = sync.Pool{New: func() any { return new(decoder) }}

// decoder is a gzip.Reader that reads through itself: forgetting the source then is
// one assignment, however deep inside gzip and flate the reference is.
type decoder struct {
	flate.Reader // the source
	gz           gzip.Reader
	buffered     *bufio.Reader // for sources without ReadByte, nil until there is one
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

// reader lends a pooled decoder until an error or io.EOF, which it then repeats. It
// is not pooled itself: a Read after the end must not reach the next borrower.
type reader struct {
	d   *decoder
	err error // set once d is given back
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
