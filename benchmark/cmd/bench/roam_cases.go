// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"
)

// change is what is different when the link comes back.
type change string

const (
	nothing    change = "nothing"
	ownAddress change = "the client's address"
	itsAddress change = "the resolver's answer" // and the old server is gone
)

// roamCase is an outage.
type roamCase struct {
	Down      time.Duration
	Changes   change
	Keepalive bool
}

func (c roamCase) String() string {
	text := fmt.Sprintf("%v down, %s changes", c.Down, c.Changes)
	if c.Keepalive {
		text += ", keepalive"
	}
	return text
}

// roamCases are all with one length.
func roamCases(down time.Duration) (cases []roamCase) {
	for _, changes := range []change{nothing, ownAddress, itsAddress} {
		for _, alive := range []bool{false, true} {
			cases = append(cases, roamCase{down, changes, alive})
		}
	}
	return cases
}
