// SPDX-License-Identifier: Apache-2.0

// Command worker is a server or a client that is measured. The programs beside it build
// it against each implementation, start it, and order what it does over its standard
// input and output; it is of no use alone.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"google.golang.org/grpc/benchmark/internal/ownheap"
	"google.golang.org/grpc/benchmark/internal/worker"
)

func main() {
	// An interrupt ends the program that started this one, and so the input.
	signal.Ignore(os.Interrupt)
	err := ownheap.Hold()
	if err == nil {
		err = worker.Run(context.Background(), os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}
