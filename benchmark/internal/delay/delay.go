// SPDX-License-Identifier: Apache-2.0

// Package delay stands between two ends of a connection like a long line: what enters
// comes out later, at any rate.
package delay

import (
	"net"
	"sync"
	"time"
)

// chunk is what is read at a time.
const chunk = 64 << 10

// inFlight is how many chunks fit into the line each way: enough that the line is never
// what limits, at 100 ms and 10 GB/s.
const inFlight = 16 << 10

// Listen accepts connections on a loopback address and carries them to target over a line
// that takes oneWay in each direction.
func Listen(target string, oneWay time.Duration) (net.Listener, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			near, err := lis.Accept()
			if err != nil {
				return
			}
			go join(near, target, oneWay)
		}
	}()
	return lis, nil
}

// join carries bytes both ways until both directions have ended.
func join(near net.Conn, target string, oneWay time.Duration) {
	defer near.Close()
	far, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer far.Close()
	var wg sync.WaitGroup
	wg.Go(func() { carry(far, near, oneWay) })
	wg.Go(func() { carry(near, far, oneWay) })
	wg.Wait()
}

type piece struct {
	data []byte
	due  time.Time
}

// carry carries one direction. An end travels like bytes do.
func carry(to, from net.Conn, oneWay time.Duration) {
	line := make(chan piece, inFlight)
	go func() {
		defer close(line)
		for {
			buf := make([]byte, chunk)
			n, err := from.Read(buf)
			if n > 0 {
				line <- piece{data: buf[:n], due: time.Now().Add(oneWay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range line {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			_ = from.Close()
			for range line { // lets the reader end
			}
			return
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
