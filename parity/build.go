// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"google.golang.org/grpc/parity/internal/probe"
)

// The two builds.
const (
	ours = iota
	published
	sides
)

// build is the program of probes, built with one of the modules.
type build struct {
	path string
}

// buildBoth builds the probes with this module and with the published one, or with two releases.
func buildBoth(ctx context.Context, dir string, o options) ([sides]build, error) {
	var (
		builds [sides]build
		errs   [sides]error
		wg     sync.WaitGroup
	)
	flags := [sides][]string{ours: nil, published: {"-modfile=published.mod"}}
	if o.between() {
		for side, release := range o.releases {
			mod, err := modfile(ctx, dir, release)
			if err != nil {
				return builds, err
			}
			flags[side] = []string{"-mod=mod", "-modfile=" + mod}
		}
	}
	for side, args := range flags {
		builds[side].path = filepath.Join(dir, fmt.Sprintf("probes%d", side))
		wg.Go(func() {
			all := append([]string{"build", "-tags", "grpctrace", "-o", builds[side].path}, args...)
			if o.race {
				all = append(all, "-race")
			}
			out, err := exec.CommandContext(ctx, "go", append(all, "./probes")...).CombinedOutput()
			if err != nil {
				errs[side] = fmt.Errorf("go %s: %w\n%s", strings.Join(all, " "), err, out)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return builds, err
		}
	}
	return builds, nil
}

// modfile writes one that requires a release of the published module.
func modfile(ctx context.Context, dir, release string) (string, error) {
	mod := filepath.Join(dir, release+".mod")
	for from, to := range map[string]string{"published.mod": mod, "published.sum": filepath.Join(dir, release+".sum")} {
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", err
		}
	}
	out, err := exec.CommandContext(ctx, "go", "mod", "edit", "-require=google.golang.org/grpc@"+release, mod).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go mod edit: %w\n%s", err, out)
	}
	return mod, nil
}

// entries asks the program which probes it has.
func (b build) entries(ctx context.Context) ([]probe.Entry, error) {
	out, err := exec.CommandContext(ctx, b.path, "-list").Output()
	if err != nil {
		return nil, err
	}
	return probe.Decode[probe.Entry](bytes.NewReader(out))
}

// outcome is what a process of probes has said.
type outcome struct {
	results []probe.Result
	dead    string   // the line that says why it died; empty if it has not
	races   []string // what the race detector has reported
}

// run runs probes in one process. One that dies has not reported all of them.
func (b build) run(ctx context.Context, names, env []string) outcome {
	cmd := exec.CommandContext(ctx, b.path)
	cmd.Env = append(append(environ(), "GORACE=exitcode=0"), env...)
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	o := outcome{races: raceReports(stderr.String())}
	o.results, _ = probe.Decode[probe.Result](&stdout)
	if err != nil {
		o.dead = causeOfDeath(stderr.String(), err)
	}
	return o
}

// environ is the environment without what would steer one module, or both.
func environ() []string {
	var env []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		upper := strings.ToUpper(name)
		if !strings.HasPrefix(upper, "GRPC_") && !strings.HasSuffix(upper, "_PROXY") {
			env = append(env, e)
		}
	}
	return env
}

// causeOfDeath is the line of a Go program's last words that names the reason.
func causeOfDeath(stderr string, err error) string {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return err.Error()
}
