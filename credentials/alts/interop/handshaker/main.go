// SPDX-License-Identifier: Apache-2.0

// Handshaker is the handshaker service for tests, as a program: whoever wants to try
// ALTS without Google's platform runs it and gives its address to both sides.
//
//	handshaker [-listen ADDR]     prints its address, ends with its input
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"google.golang.org/grpc/credentials/alts/internal/altstest"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:0", "TCP `address` to listen on")
	flag.Parse()
	lis, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal("handshaker: ", err)
	}
	fmt.Println(lis.Addr())
	stop := altstest.Serve(lis, &altstest.Service{})
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
}
