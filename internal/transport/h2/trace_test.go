// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/internal/transport/h2/trace"
	"google.golang.org/grpc/mem"
)

// traceLines gathers what a log writes.
type traceLines struct {
	mu  sync.Mutex
	all []string
}

func (l *traceLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

// take returns the lines since the last call, without time, addresses and state.
func (l *traceLines) take() (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		lines = append(lines, regexp.MustCompile(`^\S+ (\S+) \S+ (.*?) \| .*$`).ReplaceAllString(line, "$1 $2"))
	}
	l.all = nil
	return lines
}

// TestTrace: a line for each frame, in either direction, with the values of protocol fields alone.
func TestTrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var lines traceLines
		p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{StaticWindow: true, Driver: DriverConfig{Trace: trace.New(&lines, trace.Options{})}}})
		got := lines.take()
		for _, want := range []string{
			"server open", "server received SETTINGS stream=0 length=0", "server sent SETTINGS stream=0 length=0",
			"server sent SETTINGS stream=0 length=0 ACK", "server received SETTINGS stream=0 length=0 ACK",
		} {
			if !slices.Contains(got, want) {
				t.Errorf("no line %q in %q", want, got)
			}
		}
		p.send(p.headers(1, false, ":method", "POST", ":scheme", "http", ":path", "/s/m", "password", "hidden"))
		p.send(data(1, "hello", true), ping("12345678"))
		p.settle()
		p.frames()
		want := []string{
			`server received HEADERS stream=1 length=N END_HEADERS [:method="POST" :scheme="http" :path password]`,
			`server received DATA stream=1 length=5 END_STREAM`,
			`server received PING stream=0 length=8 data=3132333435363738`,
			`server sent PING stream=0 length=8 ACK data=3132333435363738`,
		}
		got = lines.take()
		got[0] = regexp.MustCompile(`length=\d+`).ReplaceAllString(got[0], "length=N")
		same(t, "lines", got, want)
		p.conn.Close(nil)
		p.settle()
		if got := lines.take(); len(got) != 1 || !strings.HasPrefix(got[0], "server closed") {
			t.Errorf("at the end: %q", got)
		}
	})
}

// TestTraceClosedBeforeStart: a connection that was closed before it began does not stay in the log.
func TestTraceClosedBeforeStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var lines traceLines
		p := newPeer(t, protocol.Server, peerConfig{
			Config: protocol.Config{Driver: DriverConfig{Trace: trace.New(&lines, trace.Options{})}},
			raw:    true, early: func(c *Conn) { c.Close(nil) },
		})
		p.settle()
		if got := lines.take(); len(got) != 2 || got[0] != "server open" || !strings.HasPrefix(got[1], "server closed") {
			t.Errorf("%q", got)
		}
	})
}

// addressless is a connection that has no addresses, as one of the program's over pipes.
type addressless struct{ *memConn }

func (addressless) LocalAddr() net.Addr  { return nil }
func (addressless) RemoteAddr() net.Addr { return nil }

// TestTraceWithoutAddresses: it is in the log all the same.
func TestTraceWithoutAddresses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var lines traceLines
		self, nc := memPipe(1 << 20)
		cfg := &protocol.Config{Pool: mem.DefaultBufferPool(), Driver: DriverConfig{Trace: trace.New(&lines, trace.Options{})}}
		c := New(addressless{self}, protocol.Server, cfg, &testRole{})
		c.Start()
		nc.Close()
		c.Close(nil)
		synctest.Wait()
		if got := lines.take(); len(got) == 0 || got[0] != "server open" {
			t.Errorf("%q", got)
		}
	})
}
