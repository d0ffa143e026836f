// SPDX-License-Identifier: Apache-2.0

// Command victim is a server or a client that is attacked, or one that stands beside. The
// program attack builds it against each implementation, starts it, and orders what it does
// over its standard input and output; it is of no use alone.
package main

import (
	"fmt"
	"os"
	"os/signal"

	"google.golang.org/grpc/attack/internal/victim"
)

func main() {
	// An interrupt ends the program that started this one, and so the input.
	signal.Ignore(os.Interrupt)
	if err := victim.Run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "victim:", err)
		os.Exit(1)
	}
}
