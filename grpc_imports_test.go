// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// core are the modules that every program gets.
var core = []string{
	"golang.org/x/net",
	"golang.org/x/sys",
	"golang.org/x/text",
	"google.golang.org/genproto/googleapis/rpc",
	"google.golang.org/grpc",
	"google.golang.org/protobuf",
}

// TestImports: a program compiles what its own imports need, and no more. What only some
// packages need comes with those, and with nothing else.
func TestImports(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command")
	}
	for _, tt := range []struct {
		packages string
		more     []string
	}{
		{packages: ". ./health ./reflection ./metadata ./status ./encoding/gzip ./keepalive ./resolver/manual ./test/bufconn"},
		{packages: "./credentials/insecure ./credentials/local ./credentials/alts ./credentials/jwt ./credentials/sts ./experimental/credentials"},
		{packages: "./balancer/roundrobin ./balancer/pickfirst ./balancer/leastrequest ./balancer/ringhash ./balancer/weightedtarget ./balancer/grpclb ./balancer/rls ./balancer/autosharding"},
		{packages: "./channelz/service ./admin ./binarylog ./stats ./tap"},
		{"./credentials/oauth ./credentials/google", []string{"cloud.google.com/go/compute/metadata", "golang.org/x/oauth2"}},
		{"./credentials/tls/certprovider/pemfile", []string{"github.com/go-jose/go-jose/v4", "github.com/spiffe/go-spiffe/v2"}},
		{"./orca ./balancer/weightedroundrobin", []string{"github.com/cncf/xds/go", "github.com/envoyproxy/protoc-gen-validate"}},
		{"./grpclog/glogger", []string{"github.com/golang/glog"}},
	} {
		args := append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, strings.Fields(tt.packages)...)
		var stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, &stderr)
		}
		modules := strings.Fields(string(out))
		slices.Sort(modules)
		for _, m := range slices.Compact(modules) {
			if !slices.Contains(core, m) && !slices.Contains(tt.more, m) {
				t.Errorf("%s: needs %s", tt.packages, m)
			}
		}
	}
}

// TestSmallProgram: what `go version -m` says of a program that uses none of the plugins names
// none of their modules, and what golang.org/x/net/trace brings is not linked.
func TestSmallProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	const text = `package main

import (
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health"
)

func main() { grpc.NewServer().Stop() }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		if !slices.Contains(core, m.Path) {
			t.Errorf("it has %s", m.Path)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", source).Output()
	if err != nil {
		t.Fatal(err)
	}
	for p := range strings.FieldsSeq(string(out)) {
		if p == "golang.org/x/net/trace" || p == "html/template" || p == "text/template" {
			t.Errorf("it has %s", p)
		}
	}
}
