// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Measures of the picture.
const (
	farColumns = 2
	farPanel   = vg.Length(300) // both wide and high, less what stands between
)

// draw makes the picture, if any stream was measured: throughput over time for each path, and
// over the round trip.
func (o farOutcome) draw(file string) (err error) {
	panels, err := o.panels()
	if err != nil || len(panels) == 0 {
		return err
	}
	rows := (len(panels) + farColumns - 1) / farColumns
	canvas := vgsvg.New(farColumns*farPanel*4/3, vg.Length(rows)*farPanel)
	tile(draw.New(canvas), panels, rows)
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = canvas.WriteTo(f)
	return err
}

// tile draws panels beside and below each other.
func tile(on draw.Canvas, panels []*plot.Plot, rows int) {
	tiles := draw.Tiles{Rows: rows, Cols: farColumns, PadX: 24, PadY: 24}
	all := draw.Crop(on, 16, -16, 8, -8)
	for i, p := range panels {
		p.Draw(tiles.At(all, i%farColumns, i/farColumns))
	}
}

func (o farOutcome) panels() (panels []*plot.Plot, err error) {
	for _, row := range []string{"down", "up"} {
		p, err := o.overRoundTrip(row)
		if err != nil {
			return nil, err
		}
		if p != nil {
			panels = append(panels, p)
		}
	}
	for _, res := range o.Results {
		if res.Row == "down" || res.Row == "up" {
			p, err := o.overTime(res)
			if err != nil {
				return nil, err
			}
			panels = append(panels, p)
		}
	}
	return panels, nil
}

// overTime draws how a stream's rate went.
func (o farOutcome) overTime(res farResult) (*plot.Plot, error) {
	p := farPlot(fmt.Sprintf("%s, %v", res.Row, res.Cell))
	p.X.Label.Text, p.Y.Label.Text = "s", "MB/s"
	p.X.Min, p.Y.Min = 0, 0
	for i := range o.Labels {
		var line plotter.XYs
		for _, m := range res.measured(i).Rates {
			line = append(line, plotter.XY{X: m.At.Seconds(), Y: m.Rate / 1e6})
		}
		if err := o.addLine(p, i, line); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// overRoundTrip draws what streams were steady at on paths without a limit and without loss;
// nil if there are fewer than two.
func (o farOutcome) overRoundTrip(row string) (*plot.Plot, error) {
	p := farPlot(row + ", steady, by the round trip")
	p.X.Label.Text, p.Y.Label.Text = "ms", "MB/s"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	p.Legend.Left = true
	trips := map[time.Duration]bool{}
	var ticks []plot.Tick
	drawn := o.Results[0].Cell // and those that differ in the round trip alone
	drawn.Rate, drawn.Loss = 0, 0
	for i := range o.Labels {
		var line plotter.XYs
		for _, res := range o.Results {
			c, rate := res.Cell, res.measured(i).Steady
			if drawn.RoundTrip = c.RoundTrip; res.Row != row || c != drawn || rate <= 0 {
				continue
			}
			line = append(line, plotter.XY{X: millis(c.RoundTrip), Y: rate / 1e6})
			if !trips[c.RoundTrip] {
				trips[c.RoundTrip] = true
				ticks = append(ticks, plot.Tick{Value: millis(c.RoundTrip), Label: strconv.FormatFloat(millis(c.RoundTrip), 'g', -1, 64)})
			}
		}
		slices.SortFunc(line, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		if err := o.addLine(p, i, line); err != nil {
			return nil, err
		}
	}
	if len(trips) < 2 {
		return nil, nil
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	return p, nil
}

// addLine draws the i-th implementation's line.
func (o farOutcome) addLine(p *plot.Plot, i int, line plotter.XYs) error {
	if len(line) == 0 {
		return nil
	}
	l, err := plotter.NewLine(line)
	if err != nil {
		return err
	}
	l.Width, l.Color = vg.Points(2), o.color(i)
	if i > 0 {
		l.Dashes = plotutil.Dashes(i - 1)
	}
	p.Add(l)
	p.Legend.Add(filepath.Base(o.Labels[i]), l)
	return nil
}

// color has bare TCP in the color of aims, and the first implementation in the strong one.
func (o farOutcome) color(i int) color.Color {
	switch i {
	case 0:
		return goal
	case 1:
		return strong
	}
	return ink
}

func farPlot(title string) *plot.Plot {
	p := newPlot()
	p.Title.Text = title
	p.Title.TextStyle.Font.Variant, p.Title.TextStyle.Color = "Sans", ink
	return p
}
