// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"errors"
	"io"
)

const (
	readAllMin = 4 << 10
	readAllMax = 64 << 10
	// maxEmptyReads is how many reads in a row may return nothing at all.
	maxEmptyReads = 100
)

var errBadCount = errors.New("mem: reader returned an impossible count")

// ReadAll reads r to its end into memory from pool (nil: allocated). A nil error means that the end was
// reached. The caller owns the result and must free it, even after an error: it then holds what arrived
// before. If r is an io.WriterTo, ReadAll calls its WriteTo instead.
func ReadAll(r io.Reader, pool BufferPool) (BufferSlice, error) {
	if pool == nil {
		pool = NopBufferPool{}
	}
	var out BufferSlice
	if wt, ok := r.(io.WriterTo); ok {
		_, err := wt.WriteTo(NewWriter(&out, pool))
		return out, err
	}
	for total := 0; ; {
		// A chunk as large as all before it: a small message gets little memory, a large one few
		// chunks.
		b, err := readChunk(r, pool, min(max(total, readAllMin), readAllMax))
		if b != nil {
			out = append(out, b)
			total += b.Len()
		}
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

// readChunk fills one Buffer, nil if nothing arrived. It returns early with an error only.
func readChunk(r io.Reader, pool BufferPool, size int) (Buffer, error) {
	chunk := pool.Get(size)
	taken := false
	defer func() { // also if r panics
		if !taken {
			pool.Put(chunk)
		}
	}()
	n, err := fill(r, *chunk)
	if IsBelowBufferPoolingThreshold(n) {
		if n == 0 {
			return nil, err
		}
		return Copy((*chunk)[:n], nil), err
	}
	taken = true
	*chunk = (*chunk)[:n]
	return NewBuffer(chunk, pool), err
}

// fill reads until dst is full or r fails.
func fill(r io.Reader, dst []byte) (n int, err error) {
	for empty := 0; n < len(dst) && err == nil; {
		var c int
		c, err = r.Read(dst[n:])
		if c < 0 || c > len(dst)-n {
			return n, errBadCount
		}
		n += c
		if empty++; c > 0 {
			empty = 0
		}
		if empty == maxEmptyReads && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}
