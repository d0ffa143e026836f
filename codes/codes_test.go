// SPDX-License-Identifier: Apache-2.0

package codes_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/grpc/codes"
)

// spec is the table of grpc/doc/statuscodes.md.
var spec = []struct {
	number codes.Code
	text   string
	json   string
}{
	{0, "OK", "OK"},
	{1, "Canceled", "CANCELLED"},
	{2, "Unknown", "UNKNOWN"},
	{3, "InvalidArgument", "INVALID_ARGUMENT"},
	{4, "DeadlineExceeded", "DEADLINE_EXCEEDED"},
	{5, "NotFound", "NOT_FOUND"},
	{6, "AlreadyExists", "ALREADY_EXISTS"},
	{7, "PermissionDenied", "PERMISSION_DENIED"},
	{8, "ResourceExhausted", "RESOURCE_EXHAUSTED"},
	{9, "FailedPrecondition", "FAILED_PRECONDITION"},
	{10, "Aborted", "ABORTED"},
	{11, "OutOfRange", "OUT_OF_RANGE"},
	{12, "Unimplemented", "UNIMPLEMENTED"},
	{13, "Internal", "INTERNAL"},
	{14, "Unavailable", "UNAVAILABLE"},
	{15, "DataLoss", "DATA_LOSS"},
	{16, "Unauthenticated", "UNAUTHENTICATED"},
}

func TestNames(t *testing.T) {
	for _, tt := range spec {
		if got := tt.number.String(); got != tt.text {
			t.Errorf("Code %d prints as %q, want %q", uint32(tt.number), got, tt.text)
		}
		for _, js := range []string{`"` + tt.json + `"`, jsonNumber(t, tt.number)} {
			c := codes.Code(99)
			if err := json.Unmarshal([]byte(js), &c); err != nil || c != tt.number {
				t.Errorf("%s is %v, %v; want %v", js, c, err, tt.number)
			}
		}
	}
	if got := codes.Code(17).String(); got != "Code(17)" {
		t.Errorf("Code 17 prints as %q", got)
	}
}

func TestUnmarshalJSON(t *testing.T) {
	for _, js := range []string{`17`, `-1`, `4294967296`, `1.5`, `"canceled"`, `"1"`, `""`, `true`, `{}`, `[]`} {
		c := codes.Code(99)
		if err := json.Unmarshal([]byte(js), &c); err == nil || c != 99 {
			t.Errorf("%s is %v, %v; want an error and no change", js, c, err)
		}
	}
	c := codes.NotFound
	if err := c.UnmarshalJSON([]byte("null")); err != nil || c != codes.NotFound {
		t.Errorf("null makes it %v, %v", c, err)
	}
	if err := (*codes.Code)(nil).UnmarshalJSON([]byte("1")); err == nil {
		t.Error("a nil *Code accepts 1")
	}
}

func jsonNumber(t *testing.T, c codes.Code) string {
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
