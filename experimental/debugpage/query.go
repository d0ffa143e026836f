// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/grpc/internal/channelz"
)

// query is what a request asks for.
type query struct {
	kind string // "" for the first page
	id   int64
	from int64 // the number with which lists begin
	rows int
	json bool
	// format is what the query asks for, or "" if the request's header decides.
	format string
}

// kinds are the kinds of pages other than the first. The index of a node's kind is its channelz.Kind.
var kinds = []string{channelz.Channel: "channel", channelz.Subchannel: "subchannel", channelz.Server: "server", channelz.Listener: "socket"}

// parse parses a request. The client may see its error.
func (p *Page) parse(r *http.Request) (q query, err error) {
	q.json = wantsJSON(r)
	values := r.URL.Query()
	q.format = values.Get("format")
	for _, kind := range kinds {
		if !values.Has(kind) {
			continue
		}
		if q.kind != "" {
			return q, fmt.Errorf("%s and %s are asked for at once", q.kind, kind)
		}
		if q.id, err = number(values, kind); err != nil {
			return q, err
		}
		q.kind = kind
	}
	if q.from, err = number(values, "from"); err != nil {
		return q, err
	}
	rows, err := number(values, "rows")
	if err != nil {
		return q, err
	}
	if q.rows = p.Rows; rows > 0 {
		q.rows = int(min(rows, maxRows))
	}
	if q.rows <= 0 {
		q.rows = defaultRows
	}
	return q, nil
}

// number returns the number that the query has under name, or 0 if it has none.
func number(values url.Values, name string) (int64, error) {
	s := values.Get(name)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s=%.20q is not a number", name, s)
	}
	return n, nil
}

// next returns the query of the page whose lists begin with number from.
func (q query) next(from int64) string {
	values := url.Values{"from": {strconv.FormatInt(from, 10)}, "rows": {strconv.Itoa(q.rows)}}
	if q.kind != "" {
		values.Set(q.kind, strconv.FormatInt(q.id, 10))
	}
	if q.format != "" {
		values.Set("format", q.format)
	}
	return "?" + values.Encode()
}
