// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestListAndServe(t *testing.T) {
	probes := []Probe{
		{Name: "a", Run: func(p *P) { p.Printf("of a") }},
		{Name: "b", Run: func(p *P) { p.Printf("of b") }, Env: []string{"A=1"}},
	}
	var buf bytes.Buffer
	if err := List(&buf, probes); err != nil {
		t.Fatal(err)
	}
	entries, err := Decode[Entry](&buf)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Entry{{Name: "a"}, {Name: "b", Own: true, Env: []string{"A=1"}}}; !reflect.DeepEqual(entries, want) {
		t.Errorf("listed %+v, want %+v", entries, want)
	}

	buf.Reset()
	if err := Serve(strings.NewReader("b\na\n"), &buf, probes, 1); err != nil {
		t.Fatal(err)
	}
	results, err := Decode[Result](&buf)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Result{{"b", []string{"of b"}}, {"a", []string{"of a"}}}; !reflect.DeepEqual(results, want) {
		t.Errorf("served %+v, want %+v", results, want)
	}

	if err := Serve(strings.NewReader("c\n"), &buf, probes, 1); err == nil {
		t.Error("a name that no probe has is served")
	}
}
