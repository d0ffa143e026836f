// SPDX-License-Identifier: Apache-2.0

// Package sample measures the process it runs in.
package sample

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Memory is what a process holds, in bytes where nothing else is said.
type Memory struct {
	// RSS is what the operating system counts. Where it does not tell (RSSKnown is false),
	// it is what the Go runtime has mapped and not given back.
	RSS        float64
	RSSKnown   bool
	Heap       float64 // objects, live after a collection
	Stack      float64
	Goroutines float64 // a number
	Files      float64 // open descriptors, a number; 0 where it is not known
}

// Minus is the difference, divided by n.
func (m Memory) Minus(before Memory, n int) Memory {
	per := func(now, then float64) float64 { return (now - then) / float64(n) }
	return Memory{
		RSS:        per(m.RSS, before.RSS),
		RSSKnown:   m.RSSKnown,
		Heap:       per(m.Heap, before.Heap),
		Stack:      per(m.Stack, before.Stack),
		Goroutines: per(m.Goroutines, before.Goroutines),
		Files:      per(m.Files, before.Files),
	}
}

// Times is n times m.
func (m Memory) Times(n int) Memory {
	m.RSS *= float64(n)
	m.Heap *= float64(n)
	m.Stack *= float64(n)
	m.Goroutines *= float64(n)
	m.Files *= float64(n)
	return m
}

// Settled gives all garbage back to the operating system and measures what stays. It
// collects four times: pools and finalizers need more than one collection to let go.
func Settled() Memory {
	for range 4 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	return Resident()
}

// Resident measures memory as it is, with its garbage.
//
// The resident set is read first: listing the open files takes over 100 bytes for each.
func Resident() Memory {
	var m Memory
	if m.RSS, m.RSSKnown = rss(); !m.RSSKnown {
		m.RSS = read("/memory/classes/total:bytes") - read("/memory/classes/heap/released:bytes")
	}
	m.Heap = read("/memory/classes/heap/objects:bytes")
	m.Stack = read("/memory/classes/heap/stacks:bytes")
	m.Goroutines = float64(runtime.NumGoroutine())
	m.Files = openFiles()
	return m
}

// Counters are what a process used and did since it began.
type Counters struct {
	Served      uint64 // calls or messages a server answered
	Allocs      uint64
	AllocBytes  uint64
	Collections uint32
	CPU         time.Duration
	Wall        time.Time
}

// Minus is what was used and done since before.
func (c Counters) Minus(before Counters) Counters {
	return Counters{
		Served:      c.Served - before.Served,
		Allocs:      c.Allocs - before.Allocs,
		AllocBytes:  c.AllocBytes - before.AllocBytes,
		Collections: c.Collections - before.Collections,
		CPU:         c.CPU - before.CPU,
		Wall:        c.Wall,
	}
}

// Count reads the counters; served is the caller's own.
func Count(served uint64) Counters {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Counters{
		Served:      served,
		Allocs:      m.Mallocs,
		AllocBytes:  m.TotalAlloc,
		Collections: m.NumGC,
		CPU:         cpu(),
		Wall:        time.Now(),
	}
}

func read(name string) float64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return float64(s[0].Value.Uint64())
}

// openFiles counts the entries of the folder that lists them, less the one that reading
// it opens.
func openFiles() float64 {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return float64(len(entries) - 1)
}
