// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"strings"
	"testing"
)

// TestDialogue: what the server may answer depends on what it was asked.
func TestDialogue(t *testing.T) {
	for _, tt := range []struct {
		name           string
		asked, replied []question
		q              question
		want           string // in the error; "": there is none
	}{
		{"asked", []question{requestHeaders}, nil, requestHeaders, ""},
		{"not asked", []question{requestHeaders}, nil, responseHeaders, "sent response headers before they were sent to it"},
		{"twice", []question{requestHeaders}, []question{requestHeaders}, requestHeaders, "sent request headers twice"},
		{"too early", []question{responseHeaders, responseTrailers}, nil, responseTrailers, "response trailers before response headers"},
		{"in order", []question{responseHeaders, responseTrailers}, []question{responseHeaders}, responseTrailers, ""},
		{"trailers alone", []question{responseTrailers}, nil, responseTrailers, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDialogue()
			for _, q := range tt.asked {
				d.ask(q)
			}
			for _, q := range tt.replied {
				if err := d.reply(q, answer{}); err != nil || d.waits(q) {
					t.Fatal(err, d.waits(q))
				}
			}
			err := d.reply(tt.q, answer{})
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %s", err, tt.want)
				}
				return
			}
			if err != nil || len(d.answers[tt.q]) != 1 || d.waits(tt.q) {
				t.Error(err, len(d.answers[tt.q]), d.waits(tt.q))
			}
		})
	}
}
