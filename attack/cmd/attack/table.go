// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/attack/internal/process"
)

// In each pair of figures ours comes first.
const rowFormat = "%-39s %15s %13s %13s %15s %13s %15s %13s %9s %13s  %s\n"

func printHead(w io.Writer) {
	fmt.Fprintln(w, "Figures of this module | of the published one.")
	fmt.Fprintf(w, rowFormat, "kind", "sent MB", "peak RSS MB", "held MB", "goroutines", "CPU s", "CPU ms/MB", "left MB", "lost", "p99 ms", "verdict")
}

func printRow(w io.Writer, r row) {
	o, p := r.Ours, r.Published
	fmt.Fprintf(w, rowFormat, r.Name,
		fmt.Sprintf("%.2f | %.2f", mb(o.Sent), mb(p.Sent)),
		fmt.Sprintf("%.0f | %.0f", mb(o.RSS), mb(p.RSS)),
		fmt.Sprintf("%.1f | %.1f", mb(o.Heap), mb(p.Heap)),
		fmt.Sprintf("%d | %d", o.Go, p.Go),
		fmt.Sprintf("%.2f | %.2f", o.CPU.Seconds(), p.CPU.Seconds()),
		fmt.Sprintf("%s | %s", cost(o), cost(p)),
		fmt.Sprintf("%.1f | %.1f", mb(o.Left), mb(p.Left)),
		fmt.Sprintf("%s | %s", lost(o), lost(p)),
		fmt.Sprintf("%s | %s", ms(o.P99), ms(p.P99)),
		verdict(r))
}

func verdict(r row) string {
	if len(r.Faults) == 0 {
		return "ok"
	}
	return "WORSE: " + strings.ReplaceAll(strings.Join(r.Faults, "; "), "\n", " ")
}

// lost is how many calls were, or that the victim was.
func lost(o outcome) string {
	if !o.Alive {
		return "dead"
	}
	return fmt.Sprint(o.Lost)
}

// cost is the processor time of the victim for each MB that was sent, in milliseconds. Where little was
// sent it says nothing, as connections and legitimate calls take most of it.
func cost(o outcome) string {
	if o.Sent < cpuLeast {
		return "-"
	}
	return fmt.Sprintf("%.0f", o.CPU.Seconds()*1000/mb(o.Sent))
}

func mb(n int64) float64 { return float64(n) / (1 << 20) }

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", mb(n)) }

func ms(d time.Duration) string { return fmt.Sprintf("%.0f", d.Seconds()*1000) }

// save writes the table, and all figures for programs: an object for each kind and line.
func save(rows []row) error {
	dir, err := process.OutDir()
	if err != nil {
		return err
	}
	var table, lines strings.Builder
	printHead(&table)
	for _, r := range rows {
		printRow(&table, r)
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "table.txt"), []byte(table.String()), 0o644),
		os.WriteFile(filepath.Join(dir, "attack.jsonl"), []byte(lines.String()), 0o644))
}

// conclude says how it went. An error says that this module is worse than it may be.
func conclude(w io.Writer, rows []row) error {
	var bad []row
	for _, r := range rows {
		if len(r.Faults) > 0 {
			bad = append(bad, r)
		}
	}
	fmt.Fprintf(w, "\n%d kinds, %d in order\n", len(rows), len(rows)-len(bad))
	for _, r := range bad {
		fmt.Fprintf(w, "%s: %s\n", r.Name, verdict(r))
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d of %d kinds do more harm than they may", len(bad), len(rows))
	}
	return nil
}
