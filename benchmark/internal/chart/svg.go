// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"io"
	"text/template"
)

// Measures of the picture, in pixels.
const (
	width      = 980
	labelWidth = 205
	barSpace   = 235 // for the longest bar; what follows holds its figures
	rowHeight  = 30
	panelHead  = 44
	chartHead  = 66
	margin     = 24
)

type drawing struct {
	Chart
	Width, Height int
	Panels        []drawnPanel
}

type drawnPanel struct {
	Title string
	Y     int
	Bars  []drawnBar
}

type drawnBar struct {
	Bar
	X, Y, Width, TextX int
	Text               string
	Class              string
}

// The colors suit a light and a dark page; the ground is the page's own.
var svg = template.Must(template.New("svg").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" role="img">
<title>{{html .Title}}</title>
<style>
text { font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #57606a }
.title { font-size: 19px; font-weight: 600; fill: #24292f }
.panel { font-size: 15px; font-weight: 600; fill: #24292f }
.value { font-weight: 600; fill: #24292f }
.note { font-size: 12.5px }
.strong { fill: #1a7f64 }
.plain { fill: #8c959f }
@media (prefers-color-scheme: dark) {
text { fill: #9198a1 }
.title, .panel, .value { fill: #e6edf3 }
.strong { fill: #2ea88a }
.plain { fill: #6e7681 }
}
</style>
<text class="title" x="24" y="34">{{html .Title}}</text>
<text class="note" x="24" y="54">{{html .Subtitle}}</text>
{{- range .Panels}}
<text class="panel" x="24" y="{{.Y}}">{{html .Title}}</text>
{{- range .Bars}}
<text x="24" y="{{.Y}}" dy="15">{{html .Label}}</text>
<rect class="{{.Class}}" x="{{.X}}" y="{{.Y}}" width="{{.Width}}" height="20" rx="3"/>
<text x="{{.TextX}}" y="{{.Y}}" dy="15"><tspan class="value">{{html .Text}}</tspan><tspan class="note" dx="10">{{html .Note}}</tspan></text>
{{- end}}
{{- end}}
</svg>
`))

// SVG writes the chart as a picture that needs nothing else.
func (c Chart) SVG(w io.Writer) error {
	d := drawing{Chart: c, Width: width, Height: chartHead}
	for _, panel := range c.Panels {
		p := drawnPanel{Title: panel.Title, Y: d.Height + 24}
		d.Height += panelHead - 8
		for _, bar := range panel.Bars {
			p.Bars = append(p.Bars, drawBar(bar, d.Height, c.longest(), c.Format))
			d.Height += rowHeight
		}
		d.Height += 8
		d.Panels = append(d.Panels, p)
	}
	d.Height += margin - 8
	if err := svg.Execute(w, d); err != nil {
		return fmt.Errorf("drawing %q: %w", c.Title, err)
	}
	return nil
}

func drawBar(bar Bar, y int, longest float64, format func(float64) string) drawnBar {
	b := drawnBar{Bar: bar, X: margin + labelWidth, Y: y, Text: format(bar.Value), Class: "plain"}
	if bar.Strong {
		b.Class = "strong"
	}
	if longest > 0 {
		b.Width = max(int(barSpace*max(bar.Value, 0)/longest), 2)
	}
	b.TextX = b.X + b.Width + 10
	return b
}
