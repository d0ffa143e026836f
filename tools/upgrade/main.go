// SPDX-License-Identifier: Apache-2.0

// Command upgrade prints a list of what has to be done so that this module can replace another
// release of google.golang.org/grpc:
//
//	go run ./tools/upgrade [-from v1.84.0] [-apidiff bin/apidiff] [-grfc FOLDER] [-probes=false] v1.85.0
//
// It compares what can be seen of two published releases from outside: what they export, which
// environment variables they name, which modules they require, which packages and tests they have,
// and what the probes of ./parity print with each. It shows and copies no function's body.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"google.golang.org/grpc/internal/checkout"
)

const module = "google.golang.org/grpc"

// comparison compares two releases.
type comparison struct {
	from, to string
	apidiff  string // the path of the program apidiff
	grfc     string // a folder with the gRFCs; "" if there is none
	probes   bool
	top      string // the root of this module
	scratch  string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "upgrade:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var c comparison
	flags := flag.NewFlagSet("upgrade", flag.ContinueOnError)
	flags.StringVar(&c.from, "from", "", "the older `release`; that which this module stands in for, if empty")
	flags.StringVar(&c.apidiff, "apidiff", "bin/apidiff", "the `program` golang.org/x/exp/cmd/apidiff")
	flags.StringVar(&c.grfc, "grfc", "", "a `folder` with the texts of gRFCs")
	flags.BoolVar(&c.probes, "probes", true, "run the probes of ./parity with both releases")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if c.to = flags.Arg(0); !strings.HasPrefix(c.to, "v") {
		return errors.New("say which release, such as v1.86.0")
	}
	if err := c.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(c.scratch)
	return c.write(ctx, out)
}

func (c *comparison) prepare() (err error) {
	if c.top, err = os.Getwd(); err != nil {
		return err
	}
	if c.from == "" {
		if c.from, err = checkout.PublishedVersion(c.top); err != nil {
			return err
		}
	}
	if c.apidiff, err = filepath.Abs(c.apidiff); err != nil {
		return err
	}
	c.scratch, err = os.MkdirTemp("", "upgrade")
	return err
}

// write prints all sections. If one fails, its text says so, and write goes on with the next.
func (c *comparison) write(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "# From %s to %s\n", c.from, c.to)
	var older, newer release
	for _, r := range []struct {
		into    *release
		version string
	}{{&older, c.from}, {&newer, c.to}} {
		var err error
		if *r.into, err = fetch(ctx, filepath.Join(c.scratch, r.version), r.version); err != nil {
			return err
		}
	}
	var failed error
	for _, s := range []section{
		{"Exported names", "Each is to be had here; `make apicheck` holds it.", func() ([]string, error) { return c.api(ctx, older, newer) }},
		{"Packages", "", func() ([]string, error) { return changes(older.packages, newer.packages), nil }},
		{"Environment variables", "`internal/envconfig`, its `testdata/published.txt`, and README. Find each default with a probe.", func() ([]string, error) { return c.environment(ctx, older, newer) }},
		{"Required modules", "", func() ([]string, error) { return changes(older.requires, newer.requires), nil }},
		{"Tests of the published module", "Their names say what it promises now: look each thing up in the gRFCs, and write a test or a probe of our own.", func() ([]string, error) { return changes(older.tests, newer.tests), nil }},
		{"Probes that print something else", "Defaults, texts, order of events. `make parity` fails for each until it is so here.", func() ([]string, error) { return c.differingProbes(ctx) }},
		{"gRFCs that this repository does not name", "Read the status of each.", func() ([]string, error) { return c.unnamedProposals() }},
		{"Places that name the release", "`go test ./tools/repository` says which are left.", func() ([]string, error) { return c.places() }},
	} {
		failed = errors.Join(failed, s.write(out))
	}
	return failed
}

// section is a part of the list.
type section struct {
	title, hint string
	items       func() ([]string, error)
}

func (s section) write(out io.Writer) error {
	items, err := s.items()
	fmt.Fprintf(out, "\n## %s (%d)\n\n", s.title, len(items))
	if s.hint != "" && len(items) > 0 {
		fmt.Fprintf(out, "%s\n\n", s.hint)
	}
	for _, item := range items {
		head, rest, more := strings.Cut(item, "\n")
		fmt.Fprintf(out, "- [ ] %s\n", head)
		if more {
			fmt.Fprintf(out, "\n  ```\n  %s\n  ```\n", strings.ReplaceAll(strings.TrimRight(rest, "\n"), "\n", "\n  "))
		}
	}
	if err != nil {
		fmt.Fprintf(out, "- [ ] this section is not complete: %s\n", firstLine(err.Error()))
		return fmt.Errorf("%s: %w", s.title, err)
	}
	if len(items) == 0 {
		fmt.Fprintln(out, "Nothing.")
	}
	return nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// output runs a command in a folder, and returns what it printed.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}
