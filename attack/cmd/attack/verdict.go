// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

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
