// SPDX-License-Identifier: Apache-2.0

// Command polyglot runs the interoperability cases between this module and implementations
// of gRPC in other languages, in both directions, in plaintext and over TLS. It also runs them
// through nginx and haproxy, and counts the calls that fail while one of the sides is restarted.
//
//	go run ./interop/polyglot [-run pattern] [-skip pattern] [-published] [-dir out/polyglot]
//
// Run it in the root of the module; `make polyglot` does. For Java it uses grpc-java's own test
// client and test server. The registries of the other languages have no such programs, so their
// programs are in the folders next to this file. They were written from the "Interoperability
// Test Case Descriptions". Packages are installed below -dir, never into the system. A language
// whose tools are not on this machine is left out, and the report names it. On Debian the tools
// are in default-jdk-headless and maven, python3-venv, npm, cargo, nginx, haproxy, and for C++ in
// g++, pkg-config, libgrpc++-dev, libprotobuf-dev and protobuf-compiler-grpc.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

func main() {
	o := options{run: regexp.MustCompile(""), skip: regexp.MustCompile("^$")}
	pattern := func(to **regexp.Regexp) func(string) error {
		return func(s string) (err error) {
			*to, err = regexp.Compile(s)
			return err
		}
	}
	flag.Func("run", "only legs whose name matches the `pattern`, like 'grpcio.*tls'", pattern(&o.run))
	flag.Func("skip", "no legs whose name matches the `pattern`, like restart", pattern(&o.skip))
	flag.BoolVar(&o.published, "published", false, "run the published module in place of this one, to compare")
	flag.StringVar(&o.dir, "dir", "out/polyglot", "the `folder` for packages and programs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "polyglot:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (failed int, err error) {
	began := time.Now()
	w := &workshop{options: o}
	if w.root, err = filepath.Abs("."); err != nil {
		return 0, err
	}
	w.source = filepath.Join(w.root, "interop", "polyglot")
	if w.dir, err = filepath.Abs(o.dir); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return 0, err
	}
	scratch, err := os.MkdirTemp("", "polyglot")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	if err := w.prepare(ctx, scratch); err != nil {
		return 0, err
	}
	r := newReport(os.Stdout)
	for _, p := range peers {
		w.runPeer(ctx, p, r)
	}
	for _, p := range proxies {
		w.runProxy(ctx, p, r)
	}
	r.print()
	fmt.Printf("took %v\n", time.Since(began).Round(time.Second))
	return r.failed, ctx.Err()
}

// runPeer builds a peer and runs its legs.
func (w *workshop) runPeer(ctx context.Context, p *peer, r *report) {
	var legs []leg
	for _, l := range p.legs() {
		if w.wants(l.name) {
			legs = append(legs, l)
		}
	}
	if len(legs) == 0 || ctx.Err() != nil {
		return
	}
	if missing := lookFor(p.tools); missing != "" {
		r.leaveOut(p.name, missing+" is not on this machine")
		return
	}
	fmt.Println("building", p.name)
	if err := p.build(ctx, w); err != nil {
		r.add(row{name: p.name, err: err})
		return
	}
	for _, l := range legs {
		if ctx.Err() == nil {
			r.add(l.run(ctx, w))
		}
	}
}
