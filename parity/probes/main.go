// SPDX-License-Identifier: Apache-2.0

// Command probes runs probes whose names it reads from its input, one a line, and prints
// their results. It is built with this module and with the published one; command parity,
// one folder up, does that and compares. Each file has the probes of one area.
package main

import (
	"flag"
	"fmt"
	"os"

	"google.golang.org/grpc/parity/internal/probe"
)

// parallel is how many probes run at a time: most wait for a peer, not for a processor.
const parallel = 8

func main() {
	list := flag.Bool("list", false, "describe the probes")
	flag.Parse()
	err := run(*list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "probes:", err)
		os.Exit(1)
	}
}

func run(list bool) error {
	all, err := probes()
	if err != nil {
		return err
	}
	if list {
		return probe.List(os.Stdout, all)
	}
	return probe.Serve(os.Stdin, os.Stdout, all, parallel)
}

// probes are those of all areas.
func probes() ([]probe.Probe, error) {
	var all []probe.Probe
	seen := make(map[string]bool)
	for _, area := range areas {
		for _, p := range area.probes {
			p.Name = area.name + "/" + p.Name
			if seen[p.Name] {
				return nil, fmt.Errorf("two probes are named %q", p.Name)
			}
			seen[p.Name] = true
			all = append(all, p)
		}
	}
	return all, nil
}
