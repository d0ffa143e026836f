// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"testing"

	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

func TestTarget(t *testing.T) {
	own := manual.NewBuilderWithScheme("own")
	for _, tt := range []struct{ target, scheme, want, authority string }{
		{"host:80", "dns", "dns:///host:80", "host:80"},
		{"host:80", "passthrough", "passthrough:///host:80", "host:80"},
		{"host", "dns", "dns:///host", "host"},
		{"1.2.3.4:80", "dns", "dns:///1.2.3.4:80", "1.2.3.4:80"},
		{"[::1]:80", "dns", "dns:///[::1]:80", "[::1]:80"},
		{":80", "dns", "dns:///:80", "localhost:80"},
		{"dns:host:80", "passthrough", "dns:///host:80", "host:80"},
		{"dns://8.8.8.8/host", "passthrough", "dns://8.8.8.8/host", "host"},
		{"DNS:///host", "passthrough", "dns:///host", "host"},
		{"unix:///a/b", "dns", "unix:///a/b", "localhost"},
		{"unix:a", "dns", "unix:///a", "localhost"},
		{"unix-abstract:a", "dns", "unix-abstract:///a", "localhost"},
		{"own:///:80%0Ax/y z", "dns", "own:///:80\nx/y z", "localhost:80%0Ax%2Fy%20z"},
		{"own:///x/y", "dns", "own:///x/y", "x%2Fy"},
		{"other:///x", "dns", "dns:///other:///x", "other:%2F%2F%2Fx"},
		{"", "dns", "dns:///", ""},
	} {
		to, err := FindTarget(tt.target, tt.scheme, []resolver.Builder{own})
		if err == nil {
			err = to.SettleAuthority("", insecure.NewCredentials())
		}
		if err != nil {
			t.Errorf("%q: %v", tt.target, err)
			continue
		}
		if got := to.CanonicalTarget(); got != tt.want || to.Authority() != tt.authority || to.Name != tt.target {
			t.Errorf("%q: %q with authority %q, want %q with %q", tt.target, got, to.Authority(), tt.want, tt.authority)
		}
	}
	for _, target := range []string{"dns:///%zz", "a\x00b"} {
		if _, err := FindTarget(target, "dns", nil); err == nil {
			t.Errorf("%q: no error", target)
		}
	}
}

func TestEscapeAuthority(t *testing.T) {
	for in, want := range map[string]string{"a/b c": "a%2Fb%20c", "[::1]:80": "[::1]:80", "x%y": "x%25y"} {
		if got := escapeAuthority(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
