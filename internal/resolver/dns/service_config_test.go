// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"encoding/json"
	"errors"
	"testing"
)

func testBuilder() *Builder {
	return &Builder{
		Percent:  func() int { return 40 },
		Hostname: func() (string, error) { return "me", nil },
	}
}

func TestChooseConfig(t *testing.T) {
	for _, tt := range []struct {
		what    string
		records []string
		want    string
		bad     bool
	}{
		{"no records", nil, "", false},
		{"another's record", []string{"v=spf1"}, "", false},
		{"no conditions", []string{`grpc_config=[{"serviceConfig":{"a":1}}]`}, `{"a":1}`, false},
		{"among others", []string{"v=spf1", `grpc_config=[{"serviceConfig":{"a":1}}]`}, `{"a":1}`, false},
		{"empty list", []string{"grpc_config=[]"}, "", false},
		{"no config", []string{"grpc_config=[{}]"}, "", false},
		{"null", []string{`grpc_config=[{"serviceConfig":null}]`}, "", false},
		{"the first with a config", []string{`grpc_config=[{},{"serviceConfig": null},{"serviceConfig":{"a":1}}]`}, `{"a":1}`, false},
		{"our language", []string{`grpc_config=[{"clientLanguage":["java","GO"],"serviceConfig":{}}]`}, "{}", false},
		{"no language", []string{`grpc_config=[{"clientLanguage":[],"serviceConfig":{}}]`}, "{}", false},
		{"their language", []string{`grpc_config=[{"clientLanguage":["java"],"serviceConfig":{}}]`}, "", false},
		{"percentage 0", []string{`grpc_config=[{"percentage":0,"serviceConfig":{}}]`}, "", false},
		{"percentage 39", []string{`grpc_config=[{"percentage":39,"serviceConfig":{}}]`}, "", false},
		{"percentage 40", []string{`grpc_config=[{"percentage":40,"serviceConfig":{}}]`}, "{}", false},
		{"percentage 100", []string{`grpc_config=[{"percentage":100,"serviceConfig":{}}]`}, "{}", false},
		{"our name", []string{`grpc_config=[{"clientHostname":["you","me"],"serviceConfig":{}}]`}, "{}", false},
		{"their name", []string{`grpc_config=[{"clientHostname":["you"],"serviceConfig":{}}]`}, "", false},
		{"the first that applies", []string{`grpc_config=[{"percentage":1,"serviceConfig":{"a":1}},{"serviceConfig":{"a":2}},{"serviceConfig":{"a":3}}]`}, `{"a":2}`, false},
		{"all conditions", []string{`grpc_config=[{"percentage":90,"clientLanguage":["go"],"clientHostname":["you"],"serviceConfig":{}}]`}, "", false},
		{"no JSON", []string{"grpc_config="}, "", true},
		{"no list", []string{`grpc_config={"serviceConfig":{}}`}, "", true},
		{"wrong type", []string{`grpc_config=[{"percentage":"1"}]`}, "", true},
	} {
		got, err := testBuilder().chooseConfig(tt.records)
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%s: %q, %v; want %q", tt.what, got, err, tt.want)
		}
	}
}

func TestChooseConfigWithoutHostname(t *testing.T) {
	b := testBuilder()
	b.Hostname = func() (string, error) { return "", errors.New("no name") }
	got, err := b.chooseConfig([]string{`grpc_config=[{"clientHostname":[""],"serviceConfig":{}}]`})
	if got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzChooseConfig(f *testing.F) {
	f.Add(`grpc_config=[{"percentage":90,"clientLanguage":["go"],"clientHostname":["me"],"serviceConfig":{"a":1}}]`)
	f.Add("grpc_config=[{}]")
	f.Add("v=spf1")
	f.Fuzz(func(t *testing.T, record string) {
		got, err := testBuilder().chooseConfig([]string{record})
		if got != "" && (err != nil || !json.Valid([]byte(got))) {
			t.Fatalf("%q: %q, %v", record, got, err)
		}
	})
}
