// SPDX-License-Identifier: Apache-2.0

package gzip

import (
	"compress/gzip"
	"errors"
	"io"
	"sync"
)

// writers has a pool of *gzip.Writer, of about 800 KB each, for each level from DefaultCompression
// up.
var writers [gzip.BestCompression - gzip.DefaultCompression + 1]sync.Pool

var errClosed = errors.New("gzip: the writer is closed")

// writer uses a gzip.Writer of the pool until Close. writer itself is not pooled, so that a second
// Close does not close a gzip.Writer that another writer uses.
type writer struct {
	gz    *gzip.Writer // nil once the writer is closed
	level int
}

func newWriter(to io.Writer, level int) (io.WriteCloser, error) {
	if gz, ok := writers[level-gzip.DefaultCompression].Get().(*gzip.Writer); ok {
		gz.Reset(to)
		return &writer{gz: gz, level: level}, nil
	}
	gz, err := gzip.NewWriterLevel(to, level)
	if err != nil {
		return nil, err
	}
	return &writer{gz: gz, level: level}, nil
}

func (w *writer) Write(p []byte) (int, error) {
	if w.gz == nil {
		return 0, errClosed
	}
	return w.gz.Write(p)
}

// Close writes the remaining data, and gives the gzip.Writer back to the pool.
func (w *writer) Close() error {
	if w.gz == nil {
		return errClosed
	}
	gz := w.gz
	w.gz = nil
	err := gz.Close()
	gz.Reset(io.Discard) // drops the reference to the caller's io.Writer
	writers[w.level-gzip.DefaultCompression].Put(gz)
	return err
}
