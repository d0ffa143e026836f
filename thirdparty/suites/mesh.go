// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"path/filepath"
	"strings"
)

// runMesh runs a pair that a control plane leads, that of `make demo-xds`: the server asks it
// what to do with connections, the client where the service is. The server has a health service
// on the port after its own. Both are below those that the system gives to connections.
func (w workshop) runMesh(ctx context.Context, dir, name string) (printed string, err error) {
	plane := filepath.Join(dir, "program-plane")
	demo := filepath.Join(w.root, "internal", "xds", "test")
	if out, err := goCommand(ctx, demo, "build", "-o", plane, "./demo").CombinedOutput(); err != nil {
		return string(out), err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	said := &output{}
	cmd := program(ctx, dir, plane, "-serve 20061,20062", said)
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer cmd.Wait() //nolint:errcheck // it is killed
	defer cancel()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return said.String(), errors.New("the control plane does not begin")
	}
	return runPair(ctx, dir, name, &script{
		env: []string{strings.TrimSpace(line)},
		lists: map[string]map[string]string{
			"SERVER_ARGS":            {name: "-port 20061"},
			"SERVER_WAIT_COMMAND":    {name: "lsof -i :20061"},
			"CLIENT_ARGS":            {name: "-target xds:///shop"},
			"EXPECTED_CLIENT_OUTPUT": {name: "Greeting: Hello world"},
		},
	})
}
