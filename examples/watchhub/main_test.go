// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestRun(t *testing.T) {
	if err := run(200, 4); err != nil {
		t.Fatal(err)
	}
}
