// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

type pairOf struct{ A, B int }

// TestMain makes this program a worker when a test starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv("CONTROL_TEST_WORKER") == "" {
		os.Exit(m.Run())
	}
	worker := Worker{
		"add": Handle(func(_ context.Context, p pairOf, progress Progress) (int, error) {
			progress(1, 2)
			progress(2, 2)
			return p.A + p.B, nil
		}),
		"fail": Handle(func(context.Context, struct{}, Progress) (int, error) {
			return 0, errors.New("it failed")
		}),
		"die": Handle(func(context.Context, struct{}, Progress) (int, error) {
			panic("it died")
		}),
	}
	if err := worker.Run(context.Background(), os.Stdin, os.Stdout); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func start(t *testing.T) *Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), Spec{Name: "worker", Path: self, Env: []string{"CONTROL_TEST_WORKER=1"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCall(t *testing.T) {
	p := start(t)
	last := 0
	sum, err := Call[int](p, "add", pairOf{A: 2, B: 3}, func(count, _ int) { last = count })
	if err != nil || sum != 5 {
		t.Errorf("add = %d, %v", sum, err)
	}
	if last != 2 {
		t.Errorf("the last progress was %d, want 2", last)
	}
	for op, want := range map[string]string{"fail": "it failed", "other": "unknown operation"} {
		if _, err := Call[int](p, op, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", op, err, want)
		}
	}
	// It still answers, and ends when its input does.
	if sum, err := Call[int](p, "add", pairOf{A: 1, B: 1}, nil); err != nil || sum != 2 {
		t.Errorf("add = %d, %v", sum, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestCallTellsWhatADeadWorkerSaid(t *testing.T) {
	p := start(t)
	_, err := Call[int](p, "die", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "it died") {
		t.Errorf("die: %v, want what the worker said", err)
	}
	if err := p.Close(); err == nil {
		t.Error("Close says nothing of the panic")
	}
}
