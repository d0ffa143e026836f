// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// farSample is made up: raw, ours, published.
func farSample() farOutcome {
	stream := func(rate float64) farMeasured {
		return farMeasured{Steady: rate, Rates: []moment{{At: time.Second, Rate: rate / 2}, {At: 2 * time.Second, Rate: rate}}}
	}
	call := func(first, warm time.Duration) farMeasured { return farMeasured{First: first, Warm: warm} }
	many := func(rate float64) farMeasured {
		return farMeasured{CallsASecond: rate, P50: 30 * time.Millisecond, P99: 40 * time.Millisecond}
	}
	o := farOutcome{Runs: 3, Labels: []string{"raw", "ours", "published"}}
	for _, trip := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond} {
		c := cell{RoundTrip: trip, Over: "tcp"}
		o.Results = append(o.Results,
			farResult{"down", c, [][]farMeasured{{stream(100e6)}, {stream(10e6), stream(95e6), stream(99e6)}, {stream(50e6)}}},
			farResult{"call/3MiB", c, [][]farMeasured{{call(2*trip, trip)}, {call(5*trip, 2*trip)}, {call(5*trip, 3*trip)}}},
			farResult{"callers=64/128B", c, [][]farMeasured{{many(100)}, {many(90)}, {many(60)}}},
		)
	}
	return o
}

func TestFarPrintsMediansAndRatios(t *testing.T) {
	var out strings.Builder
	o := farSample()
	o.printHeader(&out)
	for _, res := range o.Results[:3] {
		o.print(&out, res)
	}
	for _, want := range []string{
		"down ", "95.00 MB/s, 2.0 s", "50.00 MB/s, never", "0.95   1.90", // a stream
		"5.0, then 2.00", "0.50   1.50", // calls
		"90/s p50 3.0 p99 4.0", "0.90   1.50", // callers
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
}

func TestFarPictureIsWellFormed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "far.svg")
	if err := farSample().draw(file); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	texts := ""
	for dec := xml.NewDecoder(f); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := tok.(xml.CharData); ok {
			texts += string(text)
		}
	}
	for _, want := range []string{"down, steady, by the round trip", "down, 10ms, tcp", "down, 100ms, tcp", "published"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
}

func TestFarPictureNeedsStreams(t *testing.T) {
	file := filepath.Join(t.TempDir(), "far.svg")
	o := farSample()
	o.Results = o.Results[1:2]
	if err := o.draw(file); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("there is a picture of nothing: %v", err)
	}
}
