// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"google.golang.org/grpc/benchmark/internal/workers"
)

// save writes a file for each implementation, and one for the floor, in the format of
// `go test -bench`, which benchstat compares; and the report.
func (o outcome) save(w io.Writer) error {
	dir, err := workers.OutDir()
	if err != nil {
		return err
	}
	var files []string
	for i, label := range o.Labels {
		name := plain(label)
		if slices.Index(o.Labels, label) < i {
			name = fmt.Sprintf("%s-%d", name, i+1)
		}
		file := filepath.Join(dir, name+".txt")
		if err := o.saveOne(file, func(res result) []measured { return res.Impls[i] }); err != nil {
			return err
		}
		files = append(files, file)
	}
	floor := filepath.Join(dir, "raw.txt")
	if err := o.saveOne(floor, func(res result) []measured { return res.Floor }); err != nil {
		return err
	}
	if err := keep(filepath.Join(dir, ratesFile), o); err != nil {
		return err
	}
	page, err := writePage(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nEvery measurement, for benchstat: %s\nReport: %s\n", strings.Join(append(files, floor), " "), page)
	return nil
}

func (o outcome) saveOne(name string, of func(result) []measured) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	fmt.Fprintf(f, "goos: %s\ngoarch: %s\npkg: google.golang.org/grpc/benchmark\n", runtime.GOOS, runtime.GOARCH)
	for _, res := range o.Results {
		for _, m := range of(res) {
			total := m.total()
			_, err := fmt.Fprintf(f, "Benchmark/%s %d %.0f ns/op %.0f calls/s %d cpu-ns/op %.0f B/op %.1f allocs/op %.2f gc/s %d p50-ns %d p99-ns %d p999-ns\n",
				res.Row, m.Calls, 1e9/m.Rate, m.Rate, total.CPU.Nanoseconds(), total.AllocBytes, total.Allocs, m.Collections,
				m.Latency.P50, m.Latency.P99, m.Latency.P999)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
