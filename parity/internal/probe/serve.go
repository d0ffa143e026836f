// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// An Entry describes a probe to the program that runs them.
type Entry struct {
	Name  string   `json:"name"`
	Own   bool     `json:"own,omitempty"`
	Fewer bool     `json:"fewer,omitempty"`
	Env   []string `json:"env,omitempty"`
}

// A Result is what a probe printed.
type Result struct {
	Name  string   `json:"name"`
	Lines []string `json:"lines"`
}

// List writes an Entry a line.
func List(w io.Writer, probes []Probe) error {
	enc := json.NewEncoder(w)
	for _, p := range probes {
		if err := enc.Encode(Entry{Name: p.Name, Own: p.Own(), Fewer: p.Fewer, Env: p.Env}); err != nil {
			return err
		}
	}
	return nil
}

// Serve reads the names of probes, one a line, runs up to parallel of them at a time, and
// writes a Result a line, each when it is there.
func Serve(r io.Reader, w io.Writer, probes []Probe, parallel int) error {
	byName := make(map[string]Probe, len(probes))
	for _, p := range probes {
		byName[p.Name] = p
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
		slots = make(chan struct{}, parallel)
	)
	for lines := bufio.NewScanner(r); lines.Scan(); {
		p, known := byName[lines.Text()]
		if !known {
			return fmt.Errorf("no probe is named %q", lines.Text())
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			res := Result{Name: p.Name, Lines: Do(p, Limit)}
			mu.Lock()
			defer mu.Unlock()
			if err := json.NewEncoder(w).Encode(res); err != nil && first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	return first
}

// Decode reads what List and Serve write.
func Decode[T any](r io.Reader) ([]T, error) {
	var all []T
	for dec := json.NewDecoder(r); ; {
		var v T
		switch err := dec.Decode(&v); err {
		case nil:
			all = append(all, v)
		case io.EOF:
			return all, nil
		default:
			return all, err
		}
	}
}
