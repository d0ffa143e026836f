// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/experimental/servercontrol"
	"google.golang.org/grpc/internal/channelz"
)

func init() { channelz.TurnOn() }

// Page is the http.Handler of the page. The zero value shows everything but RPCs. A Page must not be
// changed once it serves. It may serve any number of requests at once.
type Page struct {
	// Servers are the servers whose RPCs are listed. Other servers are shown without RPCs.
	Servers []*servercontrol.Control
	// Rows is how many rows of a list are on one page. 0 stands for 50.
	Rows int
}

const (
	defaultRows = 50
	maxRows     = 1000 // the most that a request may ask for
)

// ServeHTTP implements http.Handler. It answers GET and HEAD, under any path. The query selects the page:
// without "server", "channel", "subchannel" and "socket" it is the first page; with one of them, which has
// a channelz number as its value, it is the page of that. "from" is the number with which lists begin,
// and "rows" is their length, up to 1,000.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "debugpage: the method must be GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	q, err := p.parse(r)
	if err != nil {
		http.Error(w, "debugpage: "+err.Error(), http.StatusBadRequest)
		return
	}
	v, ok := p.view(q)
	if !ok {
		http.Error(w, "debugpage: there is no "+q.kind+" "+strconv.FormatInt(q.id, 10)+" (any more)", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
	h.Set("X-Content-Type-Options", "nosniff")
	if q.json {
		h.Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(v) // an error means that the client has gone
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_ = html.Execute(w, v)
}

//go:embed page.html
var source string

var html = template.Must(template.New("page").Funcs(template.FuncMap{
	"age":   func(t time.Time) string { return ageOf(time.Now(), t) },
	"bytes": bytesText,
	"round": roundText,
	"clock": func(t time.Time) string { return t.Format("15:04:05.000") },
}).Parse(source))

// wantsJSON reports whether a request asks for JSON rather than HTML.
func wantsJSON(r *http.Request) bool {
	if f := r.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	for _, accept := range r.Header.Values("Accept") {
		for kind := range strings.SplitSeq(accept, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json":
				return true
			case "text/html":
				return false
			}
		}
	}
	return false
}

// ageOf returns how long ago t was, for people to read, or "" if t is zero.
func ageOf(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return roundText(now.Sub(t))
}

// roundText returns d with about three digits.
func roundText(d time.Duration) string {
	unit := time.Nanosecond
	for unit < time.Second && d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// bytesText returns n bytes with a unit.
func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v := float64(n)
	for len(units) > 1 && v >= 1024 {
		v, units = v/1024, units[1:]
	}
	return strconv.FormatFloat(v, 'f', min(1, 5-len(units)), 64) + " " + units[0]
}
