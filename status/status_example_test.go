// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"log"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A handler returns an error with details, and a client reads them.
func ExampleStatus_WithDetails() {
	busy, err := status.New(codes.ResourceExhausted, "too many orders").WithDetails(
		&errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)})
	if err != nil {
		log.Fatal(err)
	}
	err = busy.Err() // what the handler returns

	s := status.Convert(err) // what the client does with it
	fmt.Println(s.Code(), s.Message())
	for _, d := range s.Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok {
			fmt.Println("again in", retry.RetryDelay.AsDuration())
		}
	}
	// Output:
	// ResourceExhausted too many orders
	// again in 3s
}
