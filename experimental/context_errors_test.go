// SPDX-License-Identifier: Apache-2.0

package experimental_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// Errors of RPCs that the client has ended are context errors, too, with their cause.
func TestWishContextErrors(t *testing.T) {
	begun := make(chan struct{}, 1)
	wait := func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return nil
	}
	s := testservice.Start(t, &testservice.Functions{
		Empty:  wait,
		Stream: func(st testservice.Duplex) error { return wait(st.Context()) },
	})
	_, client := s.Dial(t, experimental.WithContextErrors())
	_, plain := s.Dial(t)
	cause := errors.New("the user has closed the window")

	calls := map[string]func(context.Context, testpb.TestServiceClient) error{
		"unary": func(ctx context.Context, c testpb.TestServiceClient) error {
			_, err := c.EmptyCall(ctx, &testpb.Empty{})
			return err
		},
		"stream": func(ctx context.Context, c testpb.TestServiceClient) error {
			st, err := c.FullDuplexCall(ctx)
			if err == nil {
				_, err = st.Recv()
			}
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			go func() { <-begun; cancel(cause) }()
			err := call(ctx, client)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("cancelled: %v is not what it was ended by", err)
			}
			want := status.Error(codes.Canceled, "context canceled")
			if st, ok := status.FromError(err); !ok || st.Code() != codes.Canceled || err.Error() != want.Error() || !errors.Is(err, want) {
				t.Errorf("cancelled: the status of %v is another", err)
			}

			late, stop := context.WithTimeout(context.Background(), time.Second)
			defer stop()
			err = call(late, client)
			testservice.Await(t, begun, "the handler")
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("too late: %v", err)
			}

			late, stop = context.WithTimeout(context.Background(), time.Second)
			defer stop()
			err = call(late, plain)
			testservice.Await(t, begun, "the handler")
			if errors.Is(err, context.DeadlineExceeded) {
				t.Error("without the option the error is another")
			}
		})
	}
}

// What the server says is a status, and nothing else; so is the end of a stream.
func TestServersStatusIsNoContextError(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{
		Empty: func(context.Context) error { return status.Error(codes.DeadlineExceeded, "of the database") },
	})
	_, client := s.Dial(t, experimental.WithContextErrors())
	_, err := client.EmptyCall(testservice.Context(t), &testpb.Empty{})
	if errors.Is(err, context.DeadlineExceeded) || status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
	st, err := client.FullDuplexCall(testservice.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); err != io.EOF {
		t.Error(err)
	}
}

// A program tells its own cancellation from a failure of the server.
func ExampleWithContextErrors() {
	cc, err := grpc.NewClient("127.0.0.1:1", experimental.WithContextErrors(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cc.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	closed := errors.New("the window was closed")
	cancel(closed)
	_, err = testpb.NewTestServiceClient(cc).EmptyCall(ctx, &testpb.Empty{})
	fmt.Println(errors.Is(err, context.Canceled), errors.Is(err, closed), status.Code(err))
	// Output: true true Canceled
}
