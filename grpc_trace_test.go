// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/metadata"
)

const traceVariable = "GRPC_GO_HTTP2_TRACE"

// traceParks says that connections park in these tests.
var traceParks = park.Supported() && envconfig.HTTPFramerReadBufferPooling

// TestTrace has another process trace its frames, as the environment says.
func TestTrace(t *testing.T) {
	if os.Getenv(traceVariable) != "" {
		traced(t)
		return
	}
	name := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(os.Args[0], "-test.run=^TestTrace$", "-test.count=1")
	cmd.Env = append(os.Environ(), traceVariable+"="+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	said := []string{
		" open | ", " sent HEADERS ", " received HEADERS ", " sent DATA ", " received DATA ", " closed ",
		":method=\"POST\"", "grpc-status=\"0\"", " authorization",
	}
	if traceParks {
		said = append(said, " parked | ", " awake | ")
	}
	for _, want := range said {
		if !strings.Contains(string(text), want) {
			t.Errorf("no line has %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "hidden") {
		t.Errorf("a value is written that nobody asked for:\n%s", text)
	}
}

// traced makes two RPCs, with a while between them in which the connection parks.
func traced(t *testing.T) {
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	ctx := metadata.AppendToOutgoingContext(testContext(t), "authorization", "hidden")
	for range 2 {
		if err := call(ctx, cc, "hello"); err != nil {
			t.Fatal(err)
		}
		if traceParks {
			waitUntil(t, "both ends are parked", func() bool { return park.ReadStats().Parked >= 2 })
		}
	}
}
