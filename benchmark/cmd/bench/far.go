// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"google.golang.org/grpc/internal/farpath"
)

// runFar measures calls and streams over far paths, beside the same bytes over bare TCP.
func runFar(ctx context.Context, args []string) error {
	o, err := parseFar(args)
	if err != nil {
		return err
	}
	rows, err := chooseFar(o.rows)
	if err != nil {
		return err
	}
	if err := farpath.Available(); err != nil {
		if again, err := asRoot(ctx); again {
			return err
		}
		fmt.Println("skipped:", err)
		return nil
	}
	built, err := build(ctx, o.impls)
	if err != nil {
		return err
	}
	impls := farImpls(built)
	outcome := farOutcome{Machine: thisMachine(time.Now()), Runs: o.runs}
	for _, impl := range impls {
		outcome.Labels = append(outcome.Labels, impl.name)
	}
	progress := newProgress(os.Stdout, len(rows)*len(o.cells)*len(impls)*o.runs)
	outcome.printHeader(os.Stdout)
	for _, r := range rows {
		for _, c := range o.cells {
			res := farResult{Row: r.name, Cell: c, Impls: make([][]farMeasured, len(impls))}
			for range o.runs {
				for i, impl := range impls {
					progress.show(fmt.Sprintf("%s over %v: %s", r.name, c, impl.name))
					m, err := measureFar(ctx, c, r, impl, o)
					if err != nil {
						return err
					}
					res.Impls[i] = append(res.Impls[i], m)
				}
			}
			outcome.Results = append(outcome.Results, res)
			progress.clear()
			outcome.print(os.Stdout, res)
		}
	}
	return outcome.save(os.Stdout)
}

// inNamespace tells this program that it was started again.
const inNamespace = "GRPC_BENCH_IN_NAMESPACE"

// asRoot runs this program once more as root of a user namespace, if it is not root. It says
// whether it did.
func asRoot(ctx context.Context) (bool, error) {
	if os.Geteuid() == 0 || os.Getenv(inNamespace) != "" {
		return false, nil
	}
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, self, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	farpath.AsRoot(cmd)
	if err := cmd.Start(); err != nil { // there are no user namespaces for us
		return false, err
	}
	return true, cmd.Wait()
}
