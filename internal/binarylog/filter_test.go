// SPDX-License-Identifier: Apache-2.0

package binarylog

import (
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	const all = unlimited
	both := Limits{all, all}
	type methods map[string]*Limits // nil: not logged
	for text, want := range map[string]methods{
		"*":          {"/a.S/M": &both, "/": &both},
		"*{h}":       {"/a.S/M": {all, 0}},
		"*{m}":       {"/a.S/M": {0, all}},
		"*{m:256}":   {"/a.S/M": {0, 256}},
		"*{h:7;m:0}": {"/a.S/M": {7, 0}},
		"*{h;m}":     {"/a.S/M": &both},
		"a.S/*":      {"/a.S/M": &both, "/b.S/M": nil, "a.S": nil, "": nil},
		"a.S/M{h:1}": {"/a.S/M": {1, 0}, "/a.S/N": nil, "/a.S/": nil},
		"a.S/*{h},a.S/M{m:256},*{h:1},-a.S/N,b.S/*,-c.S/M": {
			"/a.S/M": {0, 256}, "/a.S/O": {all, 0}, "/a.S/N": nil, "/b.S/M": &both, "/c.S/M": nil, "/c.S/N": {1, 0},
		},
		"x/y.S/M": {"/x/y.S/M": &both, "/y.S/M": nil},
	} {
		f, err := parseFilter(text)
		if err != nil {
			t.Error(err)
			continue
		}
		for method, limits := range want {
			got, logged := f.Method(method)
			if logged != (limits != nil) || logged && got != *limits {
				t.Errorf("%q, method %q: %v, %t", text, method, got, logged)
			}
		}
	}
	if _, logged := (*Filter)(nil).Method("/a.S/M"); logged {
		t.Error("nil logs")
	}
}

var badFilters = strings.Fields(`
	, *,* *{} *{h *{h}x *{x} *{m;h} *{h;} *{;m} *{h:} *{h:-1} *{h:1;m:x} *{h:99999999999999999999} *{h}{m} *x
	a.S a.S/ /M a.S/M,a.S/M a.S/*,a.S/* */M - -* -a.S/* -a.S/M{h} -a.S/M,-a.S/M a.S/M,-a.S/M -a.S/M,a.S/M a.S/M*
	a*S/M a.S/M;b.S/M
`)

func TestBadFilters(t *testing.T) {
	for _, text := range append(badFilters, "", " *", "a S/M") {
		if f, err := parseFilter(text); err == nil {
			t.Errorf("%q: %v", text, f)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("a.S/*{h},a.S/M{m:256},*{h:1},-a.S/N", "/a.S/M")
	f.Fuzz(func(t *testing.T, text, method string) {
		filter, err := parseFilter(text)
		if (filter == nil) == (err == nil) {
			t.Fatalf("%v, %v", filter, err)
		}
		if limits, logged := filter.Method(method); !logged && limits != (Limits{}) {
			t.Fatalf("%v", limits)
		}
	})
}
