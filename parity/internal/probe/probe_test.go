// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"testing"
	"time"
)

func TestDo(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(*P)
		want []string
	}{
		{"nothing", func(*P) {}, nil},
		{"two lines", func(p *P) { p.Printf("a\nb\n") }, []string{"a", "b"}},
		{"a panic", func(p *P) { p.Printf("a"); panic("no") }, []string{"a", "PANIC: no"}},
		{
			"an error of the runtime",
			func(p *P) { _ = *(*int)(nil) },
			[]string{"PANIC (runtime): runtime error: invalid memory address or nil pointer dereference"},
		},
		{
			"the last cleanup first",
			func(p *P) {
				p.Cleanup(func() { p.Printf("first") })
				p.Cleanup(func() { p.Printf("second") })
			},
			[]string{"second", "first"},
		},
		{
			"what changes from run to run",
			func(p *P) { p.Printf("127.0.0.1:40001 [::1]:4444 0xc000123456 grpc-go/1.2.3 127.0.0.1:1") },
			[]string{"127.0.0.1:PORT [::1]:PORT 0xPTR grpc-go/VERSION 127.0.0.1:1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Do(Probe{Run: c.run}, time.Minute); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestDoHang(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	got := Do(Probe{Run: func(p *P) {
		<-p.Context().Done()
		p.Printf("%v", p.Context().Err())
		<-release
	}}, time.Second/4)
	if want := []string{"context deadline exceeded", "HANG"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOneOf(t *testing.T) {
	got := Do(Probe{Run: func(p *P) {
		p.OneOf("a", "x", "x", "y")
		p.OneOf("a", "y", "x", "y")
		p.OneOf("a", "z", "x", "y")
	}}, time.Minute)
	if want := []string{"a: one of x | y", "a: one of x | y", "a: z"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
