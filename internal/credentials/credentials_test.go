// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/tls"
	"slices"
	"testing"
)

func TestAppendH2ToNextProtos(t *testing.T) {
	own := append(make([]string, 0, 2), "http/1.1")
	if got := AppendH2ToNextProtos(own); !slices.Equal(got, []string{"http/1.1", "h2"}) || own[:2][1] != "" {
		t.Errorf("%q, and the caller's array is %q", got, own[:2])
	}
	if got := AppendH2ToNextProtos([]string{"h2"}); !slices.Equal(got, []string{"h2"}) {
		t.Errorf("twice: %q", got)
	}
}

func TestCloneTLSConfig(t *testing.T) {
	if CloneTLSConfig(nil) == nil {
		t.Error("nil stays nil")
	}
	c := &tls.Config{ServerName: "a"}
	if got := CloneTLSConfig(c); got == c || got.ServerName != "a" {
		t.Errorf("%v", got)
	}
}
