// SPDX-License-Identifier: Apache-2.0

// Command peer is one side of a hunt: servers, or clients of another process's. The program stress builds it
// on each implementation, starts it, and tells it what to do over its standard input; it is of no use
// alone.
package main

import (
	"fmt"
	"os"
	"os/signal"

	"google.golang.org/grpc/attack/internal/peer"
)

func main() {
	// An interrupt ends the program that started this one, and so the input.
	signal.Ignore(os.Interrupt)
	if err := peer.Run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}
