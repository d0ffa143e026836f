// SPDX-License-Identifier: Apache-2.0

package genproto

import (
	"os"
	"regexp"
	"testing"
)

// split is the day from which no version of the module has googleapis/rpc in it.
const split = "20230526"

func TestModuleIsLifted(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^\s*(?:require )?google\.golang\.org/genproto v0\.0\.0-(\d{8})`).FindSubmatch(mod)
	if m == nil || string(m[1]) < split {
		t.Errorf("go.mod requires google.golang.org/genproto %q, want a version of %s or later", m, split)
	}
}
