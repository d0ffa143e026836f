// SPDX-License-Identifier: Apache-2.0

package gzip

import (
	"compress/gzip"
	"errors"
	"io"
	"sync"
)

// writers hold *gzip.Writer (about 800 KB each), a pool for each level from
// DefaultCompression up.
var writers [gzip.BestCompression - gzip.DefaultCompression + 1]sync.Pool

var errClosed = errors.New("gzip: the writer is closed")

// writer lends a pooled gzip.Writer until Close. It is not pooled itself: a second
// Close must not reach the next borrower.
type writer struct {
	gz    *gzip.Writer // nil: closed
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

// Close writes what is left, and gives the gzip.Writer back.
func (w *writer) Close() error {
	if w.gz == nil {
		return errClosed
	}
	gz := w.gz
	w.gz = nil
	err := gz.Close()
	gz.Reset(io.Discard) // keeps nothing of the caller's alive
	writers[w.level-gzip.DefaultCompression].Put(gz)
	return err
}
