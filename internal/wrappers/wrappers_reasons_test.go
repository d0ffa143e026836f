// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/testutils"
)

// logged is what was written to a log.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newLog has the process log at verbosity 2.
func newLog() *logged {
	l := new(logged)
	grpclog.SetLoggerV2(grpclog.NewLoggerV2WithVerbosity(l, io.Discard, io.Discard, 2))
	return l
}

// reason is why the server's connection can't be parked, as channelz has it, once it has one
// with this part; "" if it has not for the moment.
func (p *place) reason(part string) string {
	for line := range strings.Lines(p.options()[0]) {
		if why, ok := strings.CutPrefix(line, "not_parkable="); ok && strings.Contains(why, part) {
			return strings.TrimSpace(why)
		}
	}
	return ""
}

// told waits until all three places say the same reason, which has this part, and checks that
// the documentation has it, too.
func (p *place) told(log *logged, part string) {
	p.t.Helper()
	p.until("channelz, footprint and the log say why: "+part, func() bool {
		why := p.reason(part)
		return why != "" && footprint.Unparkable()[why] > 0 &&
			strings.Contains(log.String(), "keeps a goroutine and a buffer while it is idle: "+why+"\n")
	})
	doc, err := os.ReadFile("../../experimental/footprint/footprint.go")
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.Contains(string(doc), part) {
		p.t.Errorf("package footprint does not document the reason: %s", part)
	}
}

// Whoever wonders why a connection does not park is told the reason, each that there is with
// a wrapper, in channelz, by package footprint and in the log at verbosity 2.
func TestReasons(t *testing.T) {
	if !envconfig.HTTPFramerReadBufferPooling {
		t.Skip("there is one reason for all: see TestReasonOfSwitch")
	}
	if !park.Supported() {
		t.Skip("no connection parks here")
	}
	if !testutils.InChild(t, "") {
		return
	}
	log := newLog()
	var running sync.WaitGroup
	for _, s := range settings() {
		if s.whyNot() == "" || s.secure || s.shared {
			continue
		}
		running.Go(func() {
			t.Run(s.String(), func(t *testing.T) {
				p := newPlace(t, s, false)
				p.mustEcho([]byte("first"))
				p.awaitIdle(s.whyNot())
				p.told(log, s.whyNot())
			})
		})
	}
	running.Wait()
}

// The same for what the program has switched off.
func TestReasonOfSwitch(t *testing.T) {
	if !park.Supported() {
		t.Skip("there is another reason")
	}
	if !testutils.InChild(t, "GRPC_GO_EXPERIMENTAL_HTTP_FRAMER_READ_BUFFER_POOLING=false") {
		return
	}
	log := newLog()
	p := newPlace(t, setting{kind: Kinds()[0], network: "tcp"}, false)
	p.mustEcho([]byte("first"))
	p.told(log, "reading with pooled buffers is off")
}
