// SPDX-License-Identifier: Apache-2.0

// Command grpcurl lets the published grpcurl tool, built with the published gRPC module,
// call a server of this module that describes itself by reflection.
//
//	go run ./thirdparty/grpcurl [-grpcurl file]
//
// Without a file the tool is built by `go install` at a pinned version, into a temporary
// directory. Exits 0 if all answers are right.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"google.golang.org/grpc"
	channelz "google.golang.org/grpc/channelz/service"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/reflection"
)

const tool = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4"

// limit bounds the whole run, the building of the tool apart.
const limit = 2 * time.Minute

func main() {
	path := flag.String("grpcurl", "", "the tool; built if empty")
	flag.Parse()
	if err := run(*path); err != nil {
		fmt.Fprintln(os.Stderr, "grpcurl:", err)
		os.Exit(1)
	}
}

func run(path string) error {
	if path == "" {
		dir, err := os.MkdirTemp("", "grpcurl")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if path, err = build(dir); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	failed := 0
	for _, l := range links {
		n, err := l.check(ctx, path)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		failed += n
	}
	if failed > 0 {
		return fmt.Errorf("%d answers are wrong", failed)
	}
	return nil
}

// build works outside of this module, so that its replacements don't apply.
func build(dir string) (path string, err error) {
	fmt.Println("building", tool)
	install := exec.Command("go", "install", tool)
	install.Dir = dir
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-buildvcs=false", "GOOS=", "GOARCH=")
	install.Stderr = os.Stderr
	name := "grpcurl"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name), install.Run()
}

// link is a way to the server.
type link struct {
	name, network string
	secure        bool
}

var links = []link{
	{name: "tcp", network: "tcp"},
	{name: "tls", network: "tcp", secure: true},
	{name: "unix", network: "unix"},
}

// check returns how many answers are wrong.
func (l link) check(ctx context.Context, path string) (failed int, err error) {
	dir, err := os.MkdirTemp("", "grpcurl")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	addr := "127.0.0.1:0"
	if l.network == "unix" {
		addr = filepath.Join(dir, "s")
	}
	lis, err := net.Listen(l.network, addr)
	if err != nil {
		return 0, err
	}
	flags, opts, err := l.security(dir)
	if err != nil {
		return 0, err
	}
	server := newServer(opts...)
	defer server.Stop()
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()

	target := lis.Addr().String()
	if l.network == "unix" {
		target = "unix://" + target
	}
	for _, c := range cases {
		args := append(append(flags[:len(flags):len(flags)], c.flags...), target)
		out, exit := call(ctx, path, append(args, c.args...))
		if problem := c.judge(out, exit); problem != "" {
			failed++
			fmt.Printf("FAIL %-4s %s: %s\n%s\n", l.name, c.name, problem, out)
			continue
		}
		fmt.Printf("ok   %-4s %s\n", l.name, c.name)
	}
	server.GracefulStop()
	return failed, <-served
}

// security returns what the tool and the server have to be told.
func (l link) security(dir string) (flags []string, opts []grpc.ServerOption, err error) {
	if !l.secure {
		return []string{"-plaintext"}, nil, nil
	}
	files, err := testcerts.Write(dir)
	if err != nil {
		return nil, nil, err
	}
	creds, err := credentials.NewServerTLSFromFile(files.Cert, files.Key)
	if err != nil {
		return nil, nil, err
	}
	flags = []string{"-cacert", files.CA, "-authority", testcerts.ServerName}
	return flags, []grpc.ServerOption{grpc.Creds(creds)}, nil
}

func newServer(opts ...grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(opts...)
	h := health.NewServer()
	h.SetServingStatus("grpc.testing.TestService", healthpb.HealthCheckResponse_NOT_SERVING)
	healthpb.RegisterHealthServer(s, h)
	testpb.RegisterTestServiceServer(s, interop.NewTestServer())
	channelz.RegisterChannelzServiceToServer(s)
	reflection.Register(s)
	return s
}

// call returns the tool's output and the code that it exits with, -1 if it could not run.
func call(ctx context.Context, path string, args []string) (out string, exit int) {
	cmd := exec.CommandContext(ctx, path, args...)
	b, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return err.Error(), -1
	}
	return string(b), cmd.ProcessState.ExitCode()
}
