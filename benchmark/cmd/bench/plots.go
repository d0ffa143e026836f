// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"google.golang.org/grpc/benchmark/internal/stat"
)

// Colors that can be read on a light and on a dark page.
var (
	ink    = color.NRGBA{R: 0x7d, G: 0x85, B: 0x90, A: 0xff}
	faint  = color.NRGBA{R: 0x7d, G: 0x85, B: 0x90, A: 0x50}
	strong = color.NRGBA{R: 0x1f, G: 0x9d, B: 0x7c, A: 0xff}
	goal   = color.NRGBA{R: 0xd2, G: 0x8b, B: 0x26, A: 0xff}
)

// dots is one line of a plot of ratios.
type dots struct {
	label string
	pairs []float64
	aim   float64 // 0 where there is none
}

// ratios are the lines of a plot of a column's ratios to the baseline. Rows at a fixed
// rate have none: the rate was given.
func (o outcome) ratios(of func(measured) float64, aims bool) []dots {
	var lines []dots
	for _, res := range o.Results {
		if res.Share > 0 {
			continue
		}
		base := column(res.Impls[o.base()], of)
		for i := range o.base() {
			line := dots{label: res.Row, pairs: stat.Ratios(column(res.Impls[i], of), base)}
			if i > 0 {
				line.label = o.Labels[i] + " " + line.label
			}
			if aims {
				line.aim = res.Want
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// ratioPlot draws each line's pairs, their median with its interval, and its aim.
func ratioPlot(lines []dots) (template.HTML, error) {
	if len(lines) == 0 { // one implementation was measured: there is nothing to compare
		return "", nil
	}
	p := newPlot()
	p.X.Min = 0
	p.X.Max = 1.1
	var names []string
	for i, line := range slices.Backward(lines) {
		y := float64(len(lines) - 1 - i)
		names = append(names, line.label)
		sum := stat.Of(line.pairs)
		p.X.Max = max(p.X.Max, 1.05*sum.High, 1.05*line.aim)
		if err := addLine(p, y, line, sum); err != nil {
			return "", err
		}
	}
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(len(lines)) - 0.5}})
	if err != nil {
		return "", err
	}
	one.Color = ink
	p.Add(one)
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.5, float64(len(lines))-0.5
	return render(p, vg.Length(90+22*len(lines)))
}

func addLine(p *plot.Plot, y float64, line dots, sum stat.Interval) error {
	ends, err := plotter.NewLine(plotter.XYs{{X: sum.Low, Y: y}, {X: sum.High, Y: y}})
	if err != nil {
		return err
	}
	ends.Color, ends.Width = strong, vg.Points(3)
	p.Add(ends)
	points := make(plotter.XYs, len(line.pairs))
	for i, x := range line.pairs {
		points[i] = plotter.XY{X: x, Y: y}
	}
	if err := addGlyphs(p, points, draw.CircleGlyph{}, 2, ink); err != nil {
		return err
	}
	if err := addGlyphs(p, plotter.XYs{{X: sum.Median, Y: y}}, draw.CircleGlyph{}, 4.5, strong); err != nil {
		return err
	}
	if line.aim == 0 {
		return nil
	}
	return addGlyphs(p, plotter.XYs{{X: line.aim, Y: y}}, draw.PlusGlyph{}, 5, goal)
}

func addGlyphs(p *plot.Plot, at plotter.XYs, shape draw.GlyphDrawer, radius float64, c color.Color) error {
	s, err := plotter.NewScatter(at)
	if err != nil {
		return err
	}
	s.Shape, s.Radius, s.Color = shape, vg.Points(radius), c
	p.Add(s)
	return nil
}

// latencyPlot draws quantiles against the offered rate; "" without rows at fixed rates.
func (o outcome) latencyPlot() (template.HTML, error) {
	p := newPlot()
	p.X.Label.Text = "offered rate, % of what the baseline does at most"
	p.Y.Label.Text = "ms"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.X.Min, p.X.Max = 45, 95
	any := false
	for i, label := range o.Labels {
		for q, quantile := range quantiles {
			line := o.latencies(i, quantile.of)
			if len(line) == 0 {
				continue
			}
			any = true
			l, err := plotter.NewLine(line)
			if err != nil {
				return "", err
			}
			l.Width, l.Color, l.Dashes = vg.Points(2), ink, plotutil.Dashes(q)
			if i == 0 {
				l.Color = strong
			}
			p.Add(l)
			p.Legend.Add(fmt.Sprintf("%s %s", label, quantile.name), l)
		}
	}
	if !any {
		return "", nil
	}
	return render(p, 340)
}

var quantiles = []struct {
	name string
	of   func(measured) float64
}{
	{"p50", func(m measured) float64 { return millis(m.Latency.P50) }},
	{"p99", func(m measured) float64 { return millis(m.Latency.P99) }},
	{"p99.9", func(m measured) float64 { return millis(m.Latency.P999) }},
}

func (o outcome) latencies(impl int, of func(measured) float64) plotter.XYs {
	var line plotter.XYs
	for _, res := range o.Results {
		if y := stat.Median(column(res.Impls[impl], of)); res.Share > 0 && y > 0 {
			line = append(line, plotter.XY{X: 100 * res.Share, Y: y})
		}
	}
	return line
}

func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.Color, axis.Label.TextStyle.Color, axis.Tick.Label.Color = ink, ink, ink, ink
		axis.Tick.Label.Font.Variant, axis.Label.TextStyle.Font.Variant = "Sans", "Sans"
	}
	p.Legend.TextStyle.Font.Variant = "Sans"
	p.Legend.TextStyle.Color = ink
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	p.Add(grid)
	return p
}

// render draws a plot as a piece of a page.
func render(p *plot.Plot, height vg.Length) (template.HTML, error) {
	canvas := vgsvg.New(640, height)
	// Browsers have other fonts than those that were measured: leave room for wide ones.
	p.Draw(draw.Crop(draw.New(canvas), 24, -12, 4, -4))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", err
	}
	return inline(out.Bytes()), nil
}

// inline leaves out what stands before the picture in a file of its own.
func inline(svg []byte) template.HTML {
	if i := bytes.Index(svg, []byte("<svg")); i > 0 {
		svg = svg[i:]
	}
	return template.HTML(svg)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
