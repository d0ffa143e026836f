// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"errors"
	"fmt"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
)

// question is an event that the RPC waits for the answer to.
type question int

const (
	requestHeaders question = iota
	responseHeaders
	responseTrailers
	questions
)

var names = [questions]string{"request headers", "response headers", "response trailers"}

// answer is one to a question.
type answer struct {
	headers   *procv3.HeaderMutation
	immediate *procv3.ImmediateResponse // to responseTrailers alone
}

// dialogue is which questions were asked, and answered. Each is asked once at most.
type dialogue struct {
	answers         [questions]chan answer // with room for the answer
	asked, answered [questions]bool
}

func newDialogue() (d dialogue) {
	for q := range d.answers {
		d.answers[q] = make(chan answer, 1)
	}
	return d
}

func (d *dialogue) ask(q question) { d.asked[q] = true }

// waits reports whether q has no answer yet.
func (d *dialogue) waits(q question) bool { return d.asked[q] && !d.answered[q] }

// reply passes an answer to who asked. An error is a fault of the server's.
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
