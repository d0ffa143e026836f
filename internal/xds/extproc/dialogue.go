// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"errors"
	"fmt"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
)

// question is an event for which the RPC needs an answer.
type question int

const (
	requestHeaders question = iota
	responseHeaders
	responseTrailers
	questions
)

var names = [questions]string{"request headers", "response headers", "response trailers"}

// answer is the answer to a question.
type answer struct {
	headers   *procv3.HeaderMutation
	immediate *procv3.ImmediateResponse // only for responseTrailers
}

// dialogue records which questions have been asked and answered. Each is asked at most
// once.
type dialogue struct {
	answers         [questions]chan answer // each has a buffer for its answer
	asked, answered [questions]bool
}

func newDialogue() (d dialogue) {
	for q := range d.answers {
		d.answers[q] = make(chan answer, 1)
	}
	return d
}

func (d *dialogue) ask(q question) { d.asked[q] = true }

// waits reports whether q has been asked but not answered.
func (d *dialogue) waits(q question) bool { return d.asked[q] && !d.answered[q] }

// reply stores an answer for await. An error means that the server has made a mistake.
func (d *dialogue) reply(q question, a answer) error {
	switch {
	case !d.asked[q]:
		return fmt.Errorf("the external processor sent %s before they were sent to it", names[q])
	case d.answered[q]:
		return fmt.Errorf("the external processor sent %s twice", names[q])
	case q == responseTrailers && d.waits(responseHeaders):
		return errors.New("the external processor sent response trailers before response headers")
	}
	d.answered[q] = true
	d.answers[q] <- a
	return nil
}
