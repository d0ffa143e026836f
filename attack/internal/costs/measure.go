// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"bytes"
	"runtime"
	"time"

	"google.golang.org/grpc/attack/internal/cpu"
	"google.golang.org/grpc/attack/internal/wire"
)

// Cost is what a script cost the process.
type Cost struct {
	CPU       time.Duration // 0 where the system does not tell
	Allocated int64         // bytes, as they were allocated
	Held      int64         // bytes that live while the connection is there
	Left      int64         // bytes that live when it is closed, and the victim is done
}

// rounds is how many collections those who send without end have time for at most.
const rounds = 20

// Measure attacks a victim with a script, and says what that cost.
func Measure(onClient bool, s Script) (Cost, error) {
	before := live()
	start := startServer
	if onClient {
		start = startClient
	}
	v, err := start()
	if err != nil {
		return Cost{}, err
	}
	used, allocated := cpu.Used(), total()
	err = v.send(s.Sent)
	c := Cost{CPU: cpu.Used() - used}
	for n, round := int64(-1), 0; n != sent.Load() && round < rounds; round++ { // until all wait who send without end
		n = sent.Load()
		runtime.GC()
	}
	c.Allocated = total() - allocated
	c.Held = live() - before
	v.nc.Close()
	v.stop()
	c.Left = live() - before
	return c, err
}

// total is how many bytes were allocated so far.
func total() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// live is how many bytes live. What pools keep needs more than one collection to let go.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// indexAnswer tells whether the answer to a PING is in b.
func indexAnswer(b, payload []byte) bool {
	return bytes.Contains(b, wire.AppendFrame(nil, wire.Frame{Type: wire.Ping, Flags: wire.Ack, Payload: payload}))
}
