// SPDX-License-Identifier: Apache-2.0

package grpctest

import (
	"slices"
	"testing"
)

type suite struct {
	Tester
	ran *[]string
}

func (s suite) Setup(*testing.T)    { *s.ran = append(*s.ran, "setup") }
func (s suite) TestOne(*testing.T)  { *s.ran = append(*s.ran, "one") }
func (s suite) TestTwo(*testing.T)  { *s.ran = append(*s.ran, "two") }
func (s suite) TestNot(testing.TB)  { *s.ran = append(*s.ran, "not") }
func (s suite) Another(*testing.T)  { *s.ran = append(*s.ran, "another") }
func (s suite) Teardown(*testing.T) { *s.ran = append(*s.ran, "teardown") }

func TestRunSubTests(t *testing.T) {
	var ran []string
	RunSubTests(t, suite{ran: &ran})
	if want := []string{"setup", "one", "teardown", "setup", "two", "teardown"}; !slices.Equal(ran, want) {
		t.Errorf("%q, want %q", ran, want)
	}
}
