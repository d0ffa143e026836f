// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"net"
	"strings"
	"testing"
)

// hides embeds nothing, and shows nothing.
type hides struct{ *forwards }

// Each reason that a connection can have at once, and none for one that can be parked.
func TestWhyNot(t *testing.T) {
	needsDescriptor(t)
	tcp, _ := connPair(t, "tcp")
	unix, _ := connPair(t, "unix")
	pipe, other := net.Pipe()
	defer pipe.Close()
	defer other.Close()
	for name, tt := range map[string]struct {
		conn   net.Conn
		pooled bool
		want   string
	}{
		"a socket":              {tcp, true, ""},
		"embeds one":            {&embeds{tcp}, true, ""},
		"switched off":          {tcp, false, "reading with pooled buffers is off"},
		"a pipe":                {pipe, true, "*net.pipe is no socket, and does not show one below it"},
		"hides its socket":      {hides{&forwards{tcp}}, true, "readyreader.hides is no socket, and does not show one below it"},
		"ReadOnReady":           {&ready{tcp}, true, "*readyreader.ready is waited for in a ReadOnReady of its own"},
		"embeds that":           {&embeds{&ready{tcp}}, true, "*readyreader.embeds is waited for in a ReadOnReady of its own"},
		"reads over unix":       {&reads{unix}, true, "*readyreader.reads has a Read of its own, in which it is waited for"},
		"embeds such over unix": {&embeds{&reads{unix}}, true, "*readyreader.embeds has a Read of its own, in which it is waited for"},
	} {
		opts := Options{Pool: newTestPool(t), Size: 4096, Pooled: tt.pooled}
		if w, ok := NewWriter(tt.conn); ok {
			opts.Writer = w
		}
		if got := WhyNot(tt.conn, opts); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if _, ok := Socket(tt.conn, opts); ok != (tt.want == "") {
			t.Errorf("%s: a socket to wait on: %t", name, ok)
		}
	}
}

// The same of one of which something was read before.
func TestWhyNotAsPrefixed(t *testing.T) {
	tcp, _ := connPair(t, "tcp")
	if e, ok := Prefixed(tcp, []byte("x")).(Explainer); ok && e.WhyNot() != "" {
		t.Error(e.WhyNot())
	}
	if c := Prefixed(&forwards{tcp}, []byte("x")); !strings.Contains(WhyNot(c, Options{Pooled: true}), "is no socket") {
		t.Errorf("%T: %q", c, WhyNot(c, Options{Pooled: true}))
	}
}
