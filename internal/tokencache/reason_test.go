// SPDX-License-Identifier: Apache-2.0

package tokencache

import (
	"strings"
	"testing"
)

// TestReason: an error quotes what an issuer says of a fault, and no token.
func TestReason(t *testing.T) {
	for _, tt := range []struct {
		status       int
		answer, want string
	}{
		{201, "token", ""},
		{203, `{"error": "x"}`, ""},
		{403, "no", "no"},
		{403, "caf\xe9", "caf"},
		{403, strings.Repeat("a", maxReason-1) + "é", strings.Repeat("a", maxReason-1)},
		{400, ` {"error": "invalid_request", "error_description": "no subject"}`, "invalid_request: no subject"},
		{400, `{"error": "invalid_request"}`, "invalid_request"},
		{500, `{"access_token": "token"}`, ""},
		{500, `{"access_token": "token`, ""},
		{500, "\ufeff" + `{"access_token": "token"}`, ""},
		{500, `["token"]`, ""},
		{500, `"token"`, ""},
		{500, `{"error": {"code": 5}}`, ""},
		{500, "", ""},
	} {
		if got := Reason(tt.status, []byte(tt.answer)); got != tt.want {
			t.Errorf("%d %q: %q", tt.status, tt.answer, got)
		}
	}
}
