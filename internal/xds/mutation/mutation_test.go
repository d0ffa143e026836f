// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	rulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/prototext"
)

func options(t *testing.T, texts ...string) (list []*corev3.HeaderValueOption) {
	t.Helper()
	for _, text := range texts {
		o := &corev3.HeaderValueOption{}
		if err := prototext.Unmarshal([]byte(text), o); err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	return list
}

func TestA92Apply(t *testing.T) {
	const (
		overwrite = ` append_action: OVERWRITE_IF_EXISTS_OR_ADD`
		existing  = ` append_action: OVERWRITE_IF_EXISTS`
		absent    = ` append_action: ADD_IF_ABSENT`
	)
	for _, tt := range []struct {
		name   string
		set    []string
		remove []string
		want   metadata.MD // of a: 1
	}{
		{"append", []string{`header { key: "a" raw_value: "2" }`}, nil, metadata.MD{"a": {"1", "2"}}},
		{"add", []string{`header { key: "b" value: "2" }`}, nil, metadata.MD{"a": {"1"}, "b": {"2"}}},
		{"if absent", []string{`header { key: "a" value: "2" }` + absent, `header { key: "b" value: "2" }` + absent}, nil, metadata.MD{"a": {"1"}, "b": {"2"}}},
		{"overwrite", []string{`header { key: "a" value: "2" }` + overwrite, `header { key: "b" value: "2" }` + overwrite}, nil, metadata.MD{"a": {"2"}, "b": {"2"}}},
		{"if it exists", []string{`header { key: "a" value: "2" }` + existing, `header { key: "b" value: "2" }` + existing}, nil, metadata.MD{"a": {"2"}}},
		{"empty", []string{`header { key: "a" }` + overwrite, `header { key: "b" }`, `header { key: "c" } keep_empty_value: true`}, nil, metadata.MD{"c": {""}}},
		{"binary", []string{`header { key: "a-bin" raw_value: "\001" }`}, nil, metadata.MD{"a": {"1"}, "a-bin": {"\x01"}}},
		{"never", []string{`header { key: ":path" value: "x" }`, `header { key: "host" value: "x" }`}, []string{":path", "host"}, metadata.MD{"a": {"1"}}},
		{"remove", nil, []string{"a", "z"}, metadata.MD{}},
		{"set, then remove", []string{`header { key: "a" value: "2" }`}, []string{"a"}, metadata.MD{}},
	} {
		before := metadata.MD{"a": {"1"}}
		got, err := (&Rules{}).Apply(before, options(t, tt.set...), tt.remove)
		if err != nil || !reflect.DeepEqual(got, tt.want) || !reflect.DeepEqual(before, metadata.MD{"a": {"1"}}) {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
	for name, text := range map[string]string{
		"no header":      ``,
		"upper case":     `header { key: "A" value: "2" }`,
		"a space":        `header { key: "a b" value: "2" }`,
		"control":        `header { key: "a" raw_value: "\001" }`,
		"a long name":    `header { key: "` + strings.Repeat("a", maxLength+1) + `" }`,
		"a long value":   `header { key: "a" value: "` + strings.Repeat("a", maxLength+1) + `" }`,
		"no such action": `header { key: "a" value: "2" } append_action: 9`,
	} {
		var disallowed DisallowedError
		if got, err := (&Rules{}).Apply(nil, options(t, text), nil); err == nil || errors.As(err, &disallowed) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestA92Rules(t *testing.T) {
	set := options(t, `header { key: "x-a" value: "1" }`, `header { key: "x-b" value: "1" }`, `header { key: "y" value: "1" }`)
	for _, tt := range []struct{ rules, want string }{
		{``, "x-a x-b y"},
		{`disallow_all { value: true }`, ""},
		{`disallow_all { value: true } allow_expression { regex: "x-.*" }`, ""},
		{`allow_expression { regex: "x-.*" } disallow_expression { regex: "x-b" }`, "x-a"},
		{`allow_expression { regex: "x-a" }`, "x-a"},
		{`disallow_expression { regex: "x" }`, "x-a x-b y"}, // the whole name
		{`disallow_expression { regex: "x-b" } disallow_is_error { value: true }`, "error"},
	} {
		in := &rulesv3.HeaderMutationRules{}
		if err := prototext.Unmarshal([]byte(tt.rules), in); err != nil {
			t.Fatal(err)
		}
		r, err := ParseRules(in)
		if err != nil {
			t.Fatal(err)
		}
		md, err := r.Apply(metadata.MD{}, set, nil)
		var names []string
		for _, name := range []string{"x-a", "x-b", "y"} {
			if len(md[name]) > 0 {
				names = append(names, name)
			}
		}
		got := strings.Join(names, " ")
		var disallowed DisallowedError
		if errors.As(err, &disallowed) {
			got = "error"
		}
		if got != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.rules, got, err, tt.want)
		}
	}
	in := &rulesv3.HeaderMutationRules{}
	if err := prototext.Unmarshal([]byte(`disallow_all { value: true } disallow_is_error { value: true }`), in); err != nil {
		t.Fatal(err)
	}
	r, err := ParseRules(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Apply(metadata.MD{"x": {"1"}}, nil, []string{":path", "x"}); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Error(err)
	}
}
