// SPDX-License-Identifier: Apache-2.0

package mem

import "testing"

func TestReplaceDefault(t *testing.T) {
	defer ReplaceDefault(nil)
	if got := Replacement(); got != nil {
		t.Errorf("at first %v", got)
	}
	ReplaceDefault(NopBufferPool{})
	if got := Replacement(); got != Pool(NopBufferPool{}) {
		t.Errorf("%v", got)
	}
	ReplaceDefault(nil)
	if got := Replacement(); got != nil {
		t.Errorf("at last %v", got)
	}
}
