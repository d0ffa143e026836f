// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"google.golang.org/grpc/attack/internal/kinds"
)

// What this module may do worse than the published one, and what a peer may make it hold.
const (
	rssRatio = 1.3
	rssMore  = 20 << 20 // bytes

	heapRatio   = 4        // of the bytes that were sent
	heapStream  = 600      // bytes more for each stream
	heapConn    = 4 << 10  // bytes more for each connection, which sends little
	heapTLS     = 20 << 10 // bytes more where TLS has it: most of them are crypto/tls's
	heapAllowed = 4 << 20  // bytes more, whatever was sent

	cpuRatio = 2                      // of what the published module takes for each MB
	cpuMB    = 20 * time.Millisecond  // for each MB that was sent, whatever the published one takes
	cpuMore  = 200 * time.Millisecond // for the legitimate calls, for samples, and for what is by chance
	cpuLeast = 64 << 10               // bytes: where less was sent, connections and calls take the time

	leftBase = 1 << 20 // bytes that may be left, for what grew and is kept
	leftGo   = 700     // bytes more for each goroutine there was: the runtime keeps what describes it, and how it waited
)

// judge says what is worse than it may be.
func judge(r row) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	ours, published := r.Ours, r.Published
	if !ours.Alive && published.Alive {
		fault("it did not survive: %s", ours.Error)
	}
	if limit := max(int64(rssRatio*float64(published.RSS)), r.Kind.Spate) + rssMore; published.Alive && ours.RSS > limit {
		fault("%s resident, %s are allowed", megabytes(ours.RSS), megabytes(limit))
	}
	if ours.Lost > 0 && published.Lost == 0 && published.Alive {
		fault("%d legitimate calls lost: %s", ours.Lost, ours.Error)
	}
	if limit := heapLimit(r.Kind, ours); ours.Heap > limit {
		fault("%s held, %s are allowed", megabytes(ours.Heap), megabytes(limit))
	}
	if limit := cpuLimit(r.Kind, ours, published); ours.CPU > limit {
		fault("%.2f s of processor time, %.2f are allowed", ours.CPU.Seconds(), limit.Seconds())
	}
	if limit := leftLimit(r.Kind, ours, published); ours.Left > limit {
		fault("%.1f MB left behind, %.1f are allowed", mb(ours.Left), mb(limit))
	}
	return faults
}

// heapLimit is how much may be held for what an attack has spent.
func heapLimit(k kinds.Kind, o outcome) int64 {
	conn := int64(heapConn)
	if k.Secure() {
		conn += heapTLS
	}
	return heapAllowed + heapRatio*o.Sent + heapStream*o.Streams + conn*o.Conns + k.Own
}

// cpuLimit is how much processor time the bytes may take that an attack sent us, beside what the victim's
// own program takes. What the published module takes counts for each MB that it was sent, as a whole
// where hardly anything was.
func cpuLimit(k kinds.Kind, ours, published outcome) time.Duration {
	limit := time.Duration(mb(ours.Sent) * float64(max(cpuMB, k.Dear)))
	if published.Alive {
		ratio := 1.0
		if min(ours.Sent, published.Sent) >= cpuLeast {
			ratio = float64(ours.Sent) / float64(published.Sent)
		}
		limit = max(limit, time.Duration(cpuRatio*ratio*float64(published.CPU)))
	}
	return limit + k.Busy + cpuMore
}

// leftLimit is how much may be left when all connections are closed: little, whatever the attack
// was, but for what the victim's own program holds for ever.
func leftLimit(k kinds.Kind, ours, published outcome) int64 {
	limit := leftBase + leftGo*ours.Go + k.Keeps
	if published.Alive {
		limit = max(limit, published.Left+leftBase)
	}
	return limit
}
