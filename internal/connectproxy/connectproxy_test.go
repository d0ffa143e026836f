// SPDX-License-Identifier: Apache-2.0

package connectproxy

import (
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestA86With(t *testing.T) {
	plain := resolver.Address{Addr: "a:1"}
	a := With(plain, "p:1")
	if Of(plain) != "" || Of(a) != "p:1" || a.Addr != "a:1" {
		t.Errorf("%q, %q", Of(plain), Of(a))
	}
	if a.Equal(plain) || a.Equal(With(plain, "q:1")) || !a.Equal(With(plain, "p:1")) {
		t.Error("addresses behind different proxies are the same")
	}
}
