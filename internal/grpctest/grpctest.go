// SPDX-License-Identifier: Apache-2.0

// Package grpctest runs tests that are methods, for the tests of modules beside this one;
// see package internal.
package grpctest

import (
	"reflect"
	"strings"
	"testing"
)

// Tester is meant to be embedded in a type whose methods are tests. Its own methods stand
// for those that the type doesn't have.
type Tester struct{}

// Setup is called before each test.
func (Tester) Setup(*testing.T) {}

// Teardown is called after it.
func (Tester) Teardown(*testing.T) {}

// RunSubTests runs each method of x whose name begins with Test as a subtest of that name.
func RunSubTests(t *testing.T, x interface {
	Setup(*testing.T)
	Teardown(*testing.T)
},
) {
	v := reflect.ValueOf(x)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		test, ok := v.Method(i).Interface().(func(*testing.T))
		if !ok || !strings.HasPrefix(name, "Test") {
			continue
		}
		t.Run(strings.TrimPrefix(name, "Test"), func(t *testing.T) {
			x.Setup(t)
			defer x.Teardown(t)
			test(t)
		})
	}
}
