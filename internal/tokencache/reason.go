// SPDX-License-Identifier: Apache-2.0

package tokencache

import (
	"encoding/json"
	"net/http"
	"strings"
)

// maxReason bounds, in bytes, what an error quotes of an issuer's answer.
const maxReason = 1 << 10

// Reason returns what an error may quote of an issuer's answer with an HTTP status other than 200, in valid UTF-8. Of a
// JSON object these are the members that are for errors (RFC 6749, section 5.2); of text that is not JSON the first KiB;
// and nothing of other JSON, nor of the answer of a success.
func Reason(httpStatus int, answer []byte) string {
	if httpStatus >= http.StatusOK && httpStatus < http.StatusMultipleChoices {
		return ""
	}
	reason := string(answer)
	switch text := strings.TrimSpace(strings.TrimPrefix(reason, "\ufeff")); {
	case strings.HasPrefix(text, "["), strings.HasPrefix(text, `"`):
		return ""
	case strings.HasPrefix(text, "{"):
		var fault struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}
		if json.Unmarshal([]byte(text), &fault) != nil || fault.Error == "" {
			return ""
		}
		reason = strings.TrimSuffix(fault.Error+": "+fault.Description, ": ")
	}
	return strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
}
