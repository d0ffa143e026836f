// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// recordSize is what an event takes in the file: its text, filled up with zeros, and a newline.
const recordSize = maxText + 1

// maxText is the longest text, in bytes.
const maxText = 60

// eventLog is a file that all servers append to, in the place of a database or a queue.
type eventLog struct {
	file *os.File

	mu   sync.Mutex
	size uint64        // events that are known to be there
	more chan struct{} // is closed when there are others
}

func openLog(path string) (*eventLog, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &eventLog{file: f, more: make(chan struct{})}, nil
}

// append adds an event, and returns its number. The system appends one write at a time, whoever
// makes it.
func (l *eventLog) append(text string) (number uint64, err error) {
	record := make([]byte, recordSize)
	copy(record, text)
	record[maxText] = '\n'
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.Write(record); err != nil {
		return 0, err
	}
	end, err := l.file.Seek(0, 1) // where that write has ended
	return uint64(end)/recordSize - 1, err
}

// read returns an event, and waits for it.
func (l *eventLog) read(ctx context.Context, stop <-chan struct{}, number uint64) (text string, err error) {
	for {
		l.mu.Lock()
		size, more := l.size, l.more
		l.mu.Unlock()
		if number < size {
			record := make([]byte, recordSize)
			_, err := l.file.ReadAt(record, int64(number)*recordSize)
			return string(bytes.TrimRight(record[:maxText], "\x00")), err
		}
		select {
		case <-more:
		case <-stop:
			return "", errStopped
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

var errStopped = fmt.Errorf("the server drains")

// watch looks for events, also those of other servers, until ctx ends.
func (l *eventLog) watch(ctx context.Context) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		info, err := l.file.Stat()
		if err != nil {
			continue
		}
		l.mu.Lock()
		if size := uint64(info.Size()) / recordSize; size > l.size {
			l.size = size
			close(l.more)
			l.more = make(chan struct{})
		}
		l.mu.Unlock()
	}
}
