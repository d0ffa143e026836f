// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// needsServers is the case of ours that needs several servers.
const needsServers = "round_robin"

// ourServer returns the command of a server of package interop.
func (w *workshop) ourServer(ctx context.Context, program string, t target) *exec.Cmd {
	args := []string{"-until-eof", "-addr", t.addr()}
	if t.certs != nil {
		args = append(args, "-tls", "-cert", t.certs.Cert, "-key", t.certs.Key)
	}
	return exec.CommandContext(ctx, program, args...)
}

func clientArgs(t target) []string {
	args := []string{"-addr", t.addr()}
	if t.certs != nil {
		args = append(args, "-tls", "-ca", t.certs.CA, "-server-name", t.certs.serverName)
	}
	return args
}

// ourClient runs the cases in only, or if that is empty all cases of package interop except those
// in without.
func (w *workshop) ourClient(ctx context.Context, program string, t target, without map[string]string, only []string) ([]result, error) {
	list, log, err := output(ctx, exec.CommandContext(ctx, program, "-list"))
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, log)
	}
	var names []string
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(line, "\t")
		if _, ok := without[name]; !ok && name != needsServers {
			names = append(names, name)
		}
	}
	if len(only) > 0 {
		names = only
	}
	return readCases(ctx, exec.CommandContext(ctx, program, append(clientArgs(t), "-case", strings.Join(names, ","))...))
}

// ourLoad makes calls for some seconds with a client of package interop.
func (w *workshop) ourLoad(ctx context.Context, program string, t target, seconds float64) (outcomes, error) {
	args := append(clientArgs(t), "-load", strconv.FormatFloat(seconds, 'f', -1, 64)+"s")
	return readLoad(ctx, exec.CommandContext(ctx, program, args...))
}

// readCases runs a client that prints "ok|FAIL<tab>name<tab>detail", and returns its results.
func readCases(ctx context.Context, cmd *exec.Cmd) ([]result, error) {
	out, log, err := output(ctx, cmd)
	var results []result
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(f) == 3 && (f[0] == "ok" || f[0] == "FAIL") {
			results = append(results, result{name: f[1], ok: f[0] == "ok", detail: f[2]})
		}
	}
	// Exit code 1 only says that cases have failed. The results say which.
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && len(results) > 0 {
		err = nil
	}
	if err == nil && len(results) == 0 {
		err = errors.New("no case was run")
	}
	if err != nil {
		return results, fmt.Errorf("%w\n%s", err, log)
	}
	return results, nil
}

// readLoad runs a client that prints "load<tab>count<tab>outcome", and returns its outcomes.
func readLoad(ctx context.Context, cmd *exec.Cmd) (outcomes, error) {
	out, log, err := output(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, log)
	}
	o := make(outcomes)
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(f) != 3 || f[0] != "load" {
			continue
		}
		n, err := strconv.Atoi(f[1])
		if err != nil {
			return nil, err
		}
		o.add(f[2], n)
	}
	return o, nil
}
