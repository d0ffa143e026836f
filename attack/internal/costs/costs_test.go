// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"fmt"
	"testing"
	"time"
)

// What a script may cost. Its price is its bytes, the octets of its header lists, and its streams.
const (
	cpuBase   = 250 * time.Millisecond
	cpuByte   = 60 * time.Nanosecond // 60 ms a MB
	cpuStream = 30 * time.Microsecond
	cpuSender = 30 * time.Millisecond // of a handler that sends messages of a byte until its queue is full: some 20,000

	allocatedBase   = 4 << 20
	allocatedByte   = 8
	allocatedList   = 10
	allocatedStream = 8 << 10
	allocatedSender = 2 << 20 // of a handler, or a caller, that sends without end

	heldBase   = 2 << 20
	heldByte   = 4
	heldList   = 1       // what a program that asks for metadata is given
	heldStream = 3 << 10 // with the goroutine of its handler
	heldSender = 384 << 10

	leftBase = 1 << 20
)

// check says what costs more than it may.
func check(s Script, c Cost) error {
	sent, list, streams, sending := int64(len(s.Sent)), int64(s.List), int64(s.Streams+len(calls)), int64(s.Sending+1)
	cpu := cpuBase + cpuByte*time.Duration(sent+list) + cpuStream*time.Duration(streams) + cpuSender*time.Duration(sending)
	switch {
	case c.CPU > slowness*cpu:
		return fmt.Errorf("%v of processor time, %v are allowed", c.CPU, slowness*cpu)
	case c.Allocated > slowness*(allocatedBase+allocatedByte*sent+allocatedList*list+allocatedStream*streams+allocatedSender*sending):
		return fmt.Errorf("%d KB were allocated", c.Allocated>>10)
	case c.Held > heldBase+heldByte*sent+heldList*list+heldStream*streams+heldSender*sending:
		return fmt.Errorf("%d KB are held", c.Held>>10)
	case c.Left > leftBase:
		return fmt.Errorf("%d KB are left", c.Left>>10)
	}
	return nil
}

// seeds are programs: those that have hurt before, and one for each step.
func seeds() map[string][]byte {
	all := map[string][]byte{
		"pages":        {16, 0, 0, 18, 15, 0, 18, 15, 0, 18, 15, 0, 19, 12, 40, 0, 0, 0},
		"pages read":   {16, 0, 0, 18, 15, 0, 18, 15, 0, 18, 15, 0, 19, 12, 40, 0, 0, 2},
		"tiny replies": {0, 6, 3},
		"tiny unread":  {0, 3, 1, 4, 5, 255},
		"one byte":     {0, 8, 0, 3, 8, 7},
		"settings":     {0, 9, 1, 12, 4, 252},
		"resets":       {0, 9, 1, 8, 12, 3},
		"goaways":      {15, 5, 250},
		"amplified":    {16, 0, 250, 18, 10, 0, 0, 0, 2},
		"binary":       {16, 0, 251, 18, 10, 0, 0, 0, 2},
		"cut":          {17, 6, 100, 21, 0, 0},
		"trailers":     {0, 4, 1, 16, 0, 200, 18, 12, 0, 20, 0, 1},
		"hints":        {17, 5, 200, 1, 6, 200},
		"replies":      {17, 8, 1, 1, 0, 3},
	}
	if slowness > 1 {
		return all
	}
	for i := range steps {
		all[fmt.Sprint("step ", i)] = []byte{0, 3, byte(i), byte(i), 10, 77, 0, 0, 2, 1, 0, 1}
	}
	return all
}

// A program that costs too much has to do so so often, as long as there is time for it: after ten seconds
// the fuzzer takes it for one that hangs.
const (
	tries  = 3
	enough = 3 * time.Second
)

// FuzzCosts attacks a server or a client with what a program makes of its steps. Processor time depends on
// chance, and what is allocated and held a little.
func FuzzCosts(f *testing.F) {
	for _, program := range seeds() {
		f.Add(false, program)
		f.Add(true, program)
	}
	f.Fuzz(func(t *testing.T, onClient bool, program []byte) {
		s := Write(onClient, program, room)
		var failure error
		began := time.Now()
		for range tries {
			c, err := Measure(onClient, s)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("sent %d KB, lists %d KB, %d streams: %d ms, %d KB allocated, %d KB held, %d KB left", len(s.Sent)>>10, s.List>>10,
				s.Streams, c.CPU.Milliseconds(), c.Allocated>>10, c.Held>>10, c.Left>>10)
			if failure = check(s, c); failure == nil || time.Since(began) > enough {
				return // in order, or on a machine that does much else
			}
		}
		t.Error(failure)
	})
}
