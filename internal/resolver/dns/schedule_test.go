// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"testing"
	"time"
)

func TestSchedule(t *testing.T) {
	const interval = 30 * time.Second
	backoff := func(retries int) time.Duration { return time.Duration(retries+1) * time.Second }
	var (
		s   schedule
		now = time.Unix(1000, 0)
	)
	// want checks what a method returned.
	want := func(what string, wait time.Duration, due bool) func(time.Duration, bool) {
		return func(gotWait time.Duration, gotDue bool) {
			t.Helper()
			if gotWait != wait || gotDue != due {
				t.Errorf("%s: in %v, %t; want %v, %t", what, gotWait, gotDue, wait, due)
			}
		}
	}
	begin := func(ok bool) {
		t.Helper()
		if s.begin() != ok {
			t.Fatalf("begin is %t", !ok)
		}
	}

	want("first", 0, true)(s.resolveNow(now))
	want("while waiting", 0, false)(s.resolveNow(now))
	begin(true)
	begin(false)
	want("done", 0, false)(s.succeeded(now, interval))

	now = now.Add(10 * time.Second)
	want("soon after", 20*time.Second, true)(s.resolveNow(now))
	begin(true)
	want("during the lookup", 0, false)(s.resolveNow(now))
	want("done, and wanted again", interval, true)(s.succeeded(now, interval))
	begin(true)
	want("failed", time.Second, true)(s.failed(backoff))
	want("during the back-off", 0, false)(s.resolveNow(now))
	begin(true)
	want("failed again", 2*time.Second, true)(s.failed(backoff))
	begin(true)
	want("asked before the failure", 0, false)(s.resolveNow(now))
	want("failed a third time", 3*time.Second, true)(s.failed(backoff))
	begin(true)
	want("recovered", 0, false)(s.succeeded(now, interval))

	now = now.Add(time.Hour)
	want("long after", 0, true)(s.resolveNow(now))
	begin(true)
	want("failed anew", time.Second, true)(s.failed(backoff))

	s.phase = closed
	begin(false)
	want("after the end", 0, false)(s.resolveNow(now))
	want("success after the end", 0, false)(s.succeeded(now, interval))
	want("failure after the end", 0, false)(s.failed(backoff))
}
