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
		s := NewSocket(tt.conn)
		if got := WhyNot(s, tt.pooled); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if can := s.Can(); tt.pooled && (can.Has(TriesReads) && !can.Has(WaitsInRead)) != (tt.want == "") {
			t.Errorf("%s: it can do %b", name, can)
		}
	}
}

// The same of one of which something was read before.
func TestWhyNotAsPrefixed(t *testing.T) {
	tcp, _ := connPair(t, "tcp")
	if why := WhyNot(NewSocket(NewSocket(tcp).Prefixed([]byte("x"))), true); why != "" {
		t.Error(why)
	}
	if c := NewSocket(&forwards{tcp}).Prefixed([]byte("x")); !strings.Contains(WhyNot(NewSocket(c), true), "is no socket") {
		t.Errorf("%T: %q", c, WhyNot(NewSocket(c), true))
	}
}
