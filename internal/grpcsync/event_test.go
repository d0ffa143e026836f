// SPDX-License-Identifier: Apache-2.0

package grpcsync

import "testing"

func TestEvent(t *testing.T) {
	e := NewEvent()
	if e.HasFired() {
		t.Error("a new event has fired")
	}
	if !e.Fire() || e.Fire() {
		t.Error("not just the first Fire is the first")
	}
	<-e.Done()
	if !e.HasFired() {
		t.Error("it has not fired")
	}
}
