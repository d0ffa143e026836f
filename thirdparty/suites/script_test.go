// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const aScript = `
export PORT=50051
EXAMPLES=(
    "one"
    "more/two"
)

declare -A SERVER_ARGS=(
    ["more/two"]="-addr $PORT"
    ["default"]="-dir $(dirname $(realpath "$0"))/creds"
)

declare -A WAIT=(
    ["default"]="lsof -i :$PORT | grep $PORT"
    ["one"]="lsof -U | grep a-socket"
)

declare -A EXPECTED=(
    ["one"]="said \"hello\" to \[::\]"
    ["more/two"]=""
)
`

func TestReadScript(t *testing.T) {
	s, err := readScript(aScript, "/dir")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "more/two"}, s.names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ list, name, want string }{
		{"SERVER_ARGS", "more/two", "-addr 50051"},
		{"SERVER_ARGS", "one", "-dir /dir/creds"},
		{"EXPECTED", "one", `said "hello" to [::]`},
		{"EXPECTED", "more/two", ""},
		{"EXPECTED", "other", ""},
	} {
		if got := s.of(tt.list, tt.name); got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.list, tt.name, got, tt.want)
		}
	}
	for name, want := range map[string]string{
		"more/two": "[127.0.0.1:50051 [::1]:50051]",
		"one":      "[@a-socket]",
	} {
		if got := fmt.Sprint(listensOn(s.of("WAIT", name))); got != want {
			t.Errorf("the server of %s is on %s, want %s", name, got, want)
		}
	}
	if _, err := readScript(strings.ReplaceAll(aScript, "EXAMPLES", "OTHERS"), ""); err == nil {
		t.Error("a script without examples is taken")
	}
}
