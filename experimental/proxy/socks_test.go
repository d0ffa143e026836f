// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"io"
	"net/url"
	"testing"

	"google.golang.org/grpc/internal/testutils"
)

// TestSOCKSFailsWithItsAnswer: an error that comes with the end of the answer is that of the connection, as nobody would
// find it later.
func TestSOCKSFailsWithItsAnswer(t *testing.T) {
	reset := errors.New("reset")
	for why, want := range map[error]error{nil: nil, reset: reset, io.EOF: io.ErrUnexpectedEOF} {
		nc := &testutils.LastWords{Conn: testutils.Discards{}, Words: "\x05\x00" + "\x05\x00\x00\x01" + "\x7f\x00\x00\x01" + "\x00\x50", Err: why}
		if err := socks(t.Context(), nc, nil, "server.example:443"); err != want {
			t.Errorf("with %v: %v", why, err)
		}
	}
}

// TestSOCKSVersions: each answer begins with its version (RFC 1928, sections 3 and 6; RFC 1929, section 2).
func TestSOCKSVersions(t *testing.T) {
	const (
		method, withUser = "\x05\x00", "\x05\x02"
		welcome          = "\x01\x00"
		reply            = "\x00\x00\x01\x7f\x00\x00\x01\x00\x50" // without its version
	)
	user := url.UserPassword("user", "password")
	for _, tt := range []struct {
		what, says string
		user       *url.Userinfo
		want       string // "": no error
	}{
		{what: "all is well", says: method + "\x05" + reply},
		{what: "also with a user", user: user, says: withUser + welcome + "\x05" + reply},
		{what: "the method is of SOCKS 4", says: "\x04\x00" + "\x05" + reply, want: "it speaks version 4 of SOCKS, not 5"},
		{what: "the login has SOCKS's version", user: user, says: withUser + "\x05\x00" + "\x05" + reply, want: "it speaks version 5 of the login with user and password, not 1"},
		{what: "a refusal has it, too", user: user, says: withUser + "\x05\x01", want: "it speaks version 5 of the login with user and password, not 1"},
		{what: "the reply is of SOCKS 4", says: method + "\x04" + reply, want: "it speaks version 4 of SOCKS, not 5"},
		{what: "the reply is HTTP", says: method + "HTTP/1.1 400 Bad Request\r\n\r\n", want: "it speaks version 72 of SOCKS, not 5"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			nc := &testutils.LastWords{Conn: testutils.Discards{}, Words: tt.says, Err: nil}
			err := socks(t.Context(), nc, tt.user, "server.example:443")
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
