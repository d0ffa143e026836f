// SPDX-License-Identifier: Apache-2.0

package tokencache

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// errJWT is at the end of the text of each of Expiry's errors.
var errJWT = errors.New("invalid JWT")

// Expiry returns the "exp" claim of a JSON Web Token (RFC 7519, section 4.1.4). It looks at
// nothing else in the token: the server verifies it.
func Expiry(jwt string) (time.Time, error) {
	if strings.ContainsFunc(jwt, func(c rune) bool { return c <= ' ' || c > '~' }) { // Go's decoder ignores line breaks
		return time.Time{}, fmt.Errorf("white space, control or other characters that are not for a token: %w", errJWT)
	}
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return time.Time{}, fmt.Errorf("expected 3 parts in token: %w", errJWT)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, fmt.Errorf("decode error: %w: %w", err, errJWT)
	}
	var claims struct {
		Exp *float64 `json:"exp"` // RFC 7519, section 2: it need not be an integer
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		return time.Time{}, fmt.Errorf("unmarshal error: %w: %w", err, errJWT)
	}
	if claims.Exp == nil {
		return time.Time{}, fmt.Errorf("no expiration claims: %w", errJWT)
	}
	// The bound is thousands of years away and stands for all later times. Greater values might
	// not fit an int64.
	return time.Unix(int64(math.Max(0, math.Min(*claims.Exp, math.MaxInt32*100))), 0), nil
}
