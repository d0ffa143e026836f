// SPDX-License-Identifier: Apache-2.0

// Handshaker is the handshaker service of package altstest, as a program. To try ALTS
// outside Google's platform, run it and give its address to both sides. It prints its
// address, and ends when its standard input ends.
//
//	handshaker [-listen ADDR] [-record BYTES]
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"google.golang.org/grpc/credentials/alts/internal/altstest"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:0", "TCP `address` to listen on")
	record := flag.Uint("record", 0, "how many `bytes` a record may have for a party whose peer does not say (0: that stays open)")
	flag.Parse()
	lis, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal("handshaker: ", err)
	}
	fmt.Println(lis.Addr())
	stop := altstest.Serve(lis, &altstest.Service{Amend: func(r *altspb.HandshakerResult) {
		if r.MaxFrameSize == 0 {
			r.MaxFrameSize = uint32(*record)
		}
	}})
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
}
