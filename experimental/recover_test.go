// SPDX-License-Identifier: Apache-2.0

package experimental_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// A panic of a handler, or of an interceptor, fails its RPC with INTERNAL, and the server goes on.
func TestWishPanicsAreInternal(t *testing.T) {
	panics := make(chan experimental.Panic, 10)
	report := func(_ context.Context, p experimental.Panic) error {
		panics <- p
		if p.Value == "choose" {
			return status.Error(codes.Aborted, "chosen")
		}
		return nil
	}
	value := any("secret")
	f := &testservice.Functions{
		Empty:  func(context.Context) error { panic(value) },
		Stream: func(testservice.Duplex) error { panic(value) },
	}
	intercept := grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		if value == "early" {
			panic(value)
		}
		return h(ctx, req)
	})
	for name, start := range map[string]func(testing.TB, *testservice.Functions, ...grpc.ServerOption) *testservice.Service{
		"tcp": testservice.Start, "net/http": testservice.StartHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, f, intercept, experimental.RecoverPanics(report))
			_, client := s.Dial(t)
			for _, v := range []any{"secret", "early", "choose", errors.New("an error")} {
				value = v
				_, err := client.EmptyCall(testservice.Context(t), &testpb.Empty{})
				check(t, v, err, <-panics)
				st, err := client.FullDuplexCall(testservice.Context(t))
				if err != nil {
					t.Fatal(err)
				}
				_, err = st.Recv()
				check(t, v, err, <-panics)
			}
		})
	}
}

func check(t *testing.T, v any, err error, p experimental.Panic) {
	t.Helper()
	want := codes.Internal
	if v == "choose" {
		want = codes.Aborted
	}
	if status.Code(err) != want || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v: the client got %v", v, err)
	}
	if p.Value != v || !strings.Contains(string(p.Stack), "recover_test.go") || !strings.HasPrefix(p.Method, "/grpc.testing.TestService/") {
		t.Errorf("%v: the report is %q, %v, %s", v, p.Method, p.Value, p.Stack)
	}
}

func ExampleRecoverPanics() {
	server := grpc.NewServer(experimental.RecoverPanics(func(_ context.Context, p experimental.Panic) error {
		fmt.Printf("%s panicked: %v\n", p.Method, p.Value) // or count it
		return nil                                         // the client gets code Internal
	}))
	server.Stop()
	// Output:
}
