// SPDX-License-Identifier: Apache-2.0

// Package chart shows numbers as bars, in a terminal and as a picture.
package chart

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Chart is groups of bars that share a scale.
type Chart struct {
	Title    string
	Subtitle string
	Panels   []Panel
	// Format writes a bar's value.
	Format func(float64) string
}

// Panel is bars that belong together.
type Panel struct {
	Title string
	Bars  []Bar
}

// Bar is one number.
type Bar struct {
	Label  string
	Value  float64
	Note   string // behind the value
	Strong bool   // the one to look at
}

// textBar is how many characters the longest bar of a text has.
const textBar = 30

// Text writes the chart for a terminal.
func (c Chart) Text(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n%s\n", c.Title, c.Subtitle)
	for _, panel := range c.Panels {
		fmt.Fprintf(&out, "\n  %s\n", panel.Title)
		labels := 0
		for _, bar := range panel.Bars {
			labels = max(labels, utf8.RuneCountInString(bar.Label))
		}
		for _, bar := range panel.Bars {
			fmt.Fprintf(&out, "  %-*s %9s %-*s %s\n", labels, bar.Label, c.Format(bar.Value),
				textBar, blocks(bar.Value, c.longest()), bar.Note)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (c Chart) longest() float64 {
	longest := 0.0
	for _, panel := range c.Panels {
		for _, bar := range panel.Bars {
			longest = max(longest, bar.Value)
		}
	}
	return longest
}

// blocks is a bar in eighths of a character.
func blocks(value, longest float64) string {
	if value <= 0 || longest <= 0 {
		return ""
	}
	eighths := max(int(textBar*8*value/longest+0.5), 1)
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string(rune('█' + 8 - rest))
	}
	return bar
}

// Bytes writes a number of bytes as people read it.
func Bytes(v float64) string {
	switch {
	case v >= 1<<20 || v <= -1<<20:
		return fmt.Sprintf("%.1f MB", v/(1<<20))
	case v >= 100<<10 || v <= -100<<10:
		return fmt.Sprintf("%.0f KB", v/(1<<10))
	case v < 0 && v > -0.05*(1<<10): // not "-0.0"
		return "0.0 KB"
	default:
		return fmt.Sprintf("%.1f KB", v/(1<<10))
	}
}
