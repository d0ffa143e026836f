// SPDX-License-Identifier: Apache-2.0

// Package control lets one program command others over their standard input and output,
// a JSON value a line. A worker does one thing at a time, in the order it was asked.
package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

type request struct {
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args,omitempty"`
}

// reply is a progress line (Total is not 0) or the last line of an answer (Done).
type reply struct {
	Count  int             `json:"count,omitempty"`
	Total  int             `json:"total,omitempty"`
	Done   bool            `json:"done,omitempty"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Progress says that count of total are done. It is safe for concurrent use.
type Progress func(count, total int)

// Handler does one operation for a worker.
type Handler func(ctx context.Context, args json.RawMessage, progress Progress) (any, error)

// Handle makes a Handler of a function that takes its arguments as a struct.
func Handle[A, R any](do func(context.Context, A, Progress) (R, error)) Handler {
	return func(ctx context.Context, raw json.RawMessage, progress Progress) (any, error) {
		var args A
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, err
			}
		}
		return do(ctx, args, progress)
	}
}

// Worker answers requests by the name of their operation.
type Worker map[string]Handler

// Run answers requests until in ends, which is also how a worker learns that the program
// that started it is gone.
func (w Worker) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := json.NewDecoder(bufio.NewReader(in))
	answers := &answerer{enc: json.NewEncoder(out)}
	for {
		var req request
		if err := lines.Decode(&req); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("reading a request: %w", err)
		}
		if err := answers.send(w.answer(ctx, req, answers.progress)); err != nil {
			return fmt.Errorf("answering %s: %w", req.Op, err)
		}
	}
}

func (w Worker) answer(ctx context.Context, req request, progress Progress) reply {
	handle, ok := w[req.Op]
	if !ok {
		return reply{Done: true, Error: "unknown operation " + req.Op}
	}
	result, err := handle(ctx, req.Args, progress)
	if err != nil {
		return reply{Done: true, Error: err.Error()}
	}
	data, err := json.Marshal(result)
	if err != nil {
		return reply{Done: true, Error: err.Error()}
	}
	return reply{Done: true, Result: data}
}

type answerer struct {
	mu   sync.Mutex
	enc  *json.Encoder
	last time.Time // of a progress line: they are kept to ten a second
}

func (a *answerer) send(r reply) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.enc.Encode(r)
}

func (a *answerer) progress(count, total int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); count >= total || now.Sub(a.last) > 100*time.Millisecond {
		a.last = now
		_ = a.enc.Encode(reply{Count: count, Total: total}) // a lost progress line harms nothing
	}
}
