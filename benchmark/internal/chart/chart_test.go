// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

func sampleChart() Chart {
	return Chart{
		Title:    "Costs <of> things & others",
		Subtitle: "made up",
		Panels: []Panel{
			{Title: "server", Bars: []Bar{
				{Label: "ours", Value: 1 << 10, Strong: true, Note: `"small"`},
				{Label: "other", Value: 10 << 10},
				{Label: "none", Value: 0},
			}},
			{Title: "empty"},
		},
		Format: Bytes,
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	var out bytes.Buffer
	if err := sampleChart().SVG(&out); err != nil {
		t.Fatal(err)
	}
	rects := 0
	for dec := xml.NewDecoder(&out); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "rect" {
			rects++
		}
	}
	if rects != 3 {
		t.Errorf("%d bars drawn, want 3", rects)
	}
}

func TestTextScalesBars(t *testing.T) {
	var out bytes.Buffer
	if err := sampleChart().Text(&out); err != nil {
		t.Fatal(err)
	}
	for want, n := range map[string]int{"ours": 3, "other": 30, "none": 0} {
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "  "+want+" ") {
				if got := strings.Count(line, "█"); got != n {
					t.Errorf("bar of %s has %d blocks, want %d", want, got, n)
				}
			}
		}
	}
}

func TestBlocks(t *testing.T) {
	for _, test := range []struct {
		value, longest float64
		want           string
	}{
		{0, 10, ""},
		{-1, 10, ""},
		{1, 0, ""},
		{0.0001, 10, "▏"},
		{1, 60, "▌"},
		{10, 10, strings.Repeat("█", textBar)},
	} {
		if got := blocks(test.value, test.longest); got != test.want {
			t.Errorf("blocks(%v, %v) = %q, want %q", test.value, test.longest, got, test.want)
		}
		if n := utf8.RuneCountInString(blocks(test.value, test.longest)); n > textBar {
			t.Errorf("blocks(%v, %v) has %d characters", test.value, test.longest, n)
		}
	}
}

func TestBytes(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0 KB", 2662: "2.6 KB", -512: "-0.5 KB", -20: "0.0 KB", 200 << 10: "200 KB", 3 << 20: "3.0 MB",
	} {
		if got := Bytes(v); got != want {
			t.Errorf("Bytes(%v) = %q, want %q", v, got, want)
		}
	}
}
