// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
)

// Files of results in the folder for results.
const (
	ratesFile = "rates.json"
	idleFile  = "idle.json"
	pageFile  = "report.html"
)

// page is what the report shows.
type page struct {
	Rates *outcome
	Idle  *idleOutcome

	RatioPlot, CPUPlot, LatencyPlot template.HTML
	RateTable, IdleTable            string
	IdleChart                       template.HTML
}

var pageTemplate = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>gRPC: this module beside the published one</title>
<style>
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1080px; margin: 2em auto; padding: 0 1em }
svg { max-width: 100%; height: auto }
pre { font-size: 12px; overflow-x: auto; line-height: 1.4 }
.note { opacity: .75 }
</style>
</head>
<body>
<h1>This module beside the published one</h1>
{{with .Rates}}
<p class="note">{{.Machine}}. Client and server in a process each over loopback, a fresh pair for each measurement;
{{.Pairs}} measurements of {{.Seconds}} s for each row and implementation, in turn.</p>
{{end}}
{{with .RatioPlot}}
<h2>Rate, as a ratio to the baseline</h2>
<p>Small dots are pairs that were measured one after the other; the large dot is their median, the bar where the true one lies;
a plus is the aim. More is better.</p>
{{.}}
{{end}}
{{with .CPUPlot}}
<h2>Processor time for a call or message, as a ratio to the baseline</h2>
<p>Client and server together. Less is better.</p>
{{.}}
{{end}}
{{with .LatencyPlot}}
<h2>Latency at fixed rates</h2>
<p>Calls begin at a fixed rate whether or not earlier ones ended, so a stall is felt by all that begin during it.</p>
{{.}}
{{end}}
{{with .IdleChart}}
<h2>Idle connections</h2>
{{.}}
{{end}}
{{with .RateTable}}<h2>All figures</h2><pre>{{.}}</pre>{{end}}
{{with .IdleTable}}<pre>{{.}}</pre>{{end}}
</body>
</html>
`))

// writePage makes the report of the results that are in dir, and returns its name.
func writePage(dir string) (string, error) {
	p := page{}
	var err error
	if p.Rates, err = load[outcome](filepath.Join(dir, ratesFile)); err != nil {
		return "", err
	}
	if p.Idle, err = load[idleOutcome](filepath.Join(dir, idleFile)); err != nil {
		return "", err
	}
	if err := errors.Join(p.drawRates(), p.drawIdle()); err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return "", err
	}
	name := filepath.Join(dir, pageFile)
	return name, os.WriteFile(name, out.Bytes(), 0o644)
}

func (p *page) drawRates() (err error) {
	o := p.Rates
	if o == nil || len(o.Results) == 0 {
		return nil
	}
	rate := func(m measured) float64 { return m.Rate }
	if p.RatioPlot, err = ratioPlot(o.ratios(rate, true)); err != nil {
		return err
	}
	if p.CPUPlot, err = ratioPlot(o.ratios(totalCPU, false)); err != nil {
		return err
	}
	if p.LatencyPlot, err = o.latencyPlot(); err != nil {
		return err
	}
	var text bytes.Buffer
	o.print(&text)
	p.RateTable = text.String()
	return nil
}

func (p *page) drawIdle() error {
	o := p.Idle
	if o == nil || len(o.Tables) == 0 {
		return nil
	}
	var svg, text bytes.Buffer
	if err := o.chart().SVG(&svg); err != nil {
		return err
	}
	p.IdleChart = inline(svg.Bytes())
	fmt.Fprintf(&text, "%v\n", o.Machine)
	for _, t := range o.Tables {
		t.print(&text)
	}
	p.IdleTable = text.String()
	return nil
}

// load reads results; nil where there are none.
func load[T any](name string) (*T, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return v, nil
}

// keep writes results.
func keep(name string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
