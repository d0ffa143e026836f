// SPDX-License-Identifier: Apache-2.0

package backendlabel

import (
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestLabels(t *testing.T) {
	plain := resolver.Address{Addr: "a:1"}
	want := Labels{"service", "here"}
	labelled := With(plain, want)
	if Of(plain) != (Labels{}) || Of(labelled) != want || labelled.Addr != plain.Addr {
		t.Errorf("%+v has %v, %+v has %v", plain, Of(plain), labelled, Of(labelled))
	}
	if !labelled.Equal(With(plain, want)) || labelled.Equal(plain) {
		t.Error("labels and equality")
	}
}
