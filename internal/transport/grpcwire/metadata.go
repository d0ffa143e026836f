// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"errors"
	"fmt"
	"strings"
)

// ValidateKey checks the name of an application's metadata entry: 1*(0-9 a-z _ - .). It judges names that
// [IsReserved] covers like any others; [CheckPair] asks IsReserved first.
func ValidateKey(key string) error {
	if key == "" {
		return errors.New("there is an empty key in the header")
	}
	for i := range len(key) {
		if !isKeyByte(key[i]) {
			return fmt.Errorf("header key %q contains illegal characters not in [0-9a-z-_.]", clip(key))
		}
	}
	return nil
}

// CheckReplyPair is CheckPair for what a server sends. Keys may be any field name of HTTP, because requests
// may have them and a handler may echo them. Values may hold any bytes but control characters: the
// published module sends such values, and accepts them.
func CheckReplyPair(key, value string) (send bool, err error) {
	if IsReservedReply(key) {
		return false, nil
	}
	if !isFieldName(key) {
		return false, ValidateKey(key)
	}
	if IsBinary(key) {
		return true, nil
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false, fmt.Errorf("header key %q contains value with non-printable ASCII characters", clip(key))
		}
	}
	return true, nil
}

// ValidateValue checks what is sent under key: any bytes under a key with "-bin" at its end,
// printable ASCII (0x20 to 0x7e) under others. The error names the key and not the value,
// which may be a secret.
func ValidateValue(key, value string) error {
	if IsBinary(key) {
		return nil
	}
	for i := range len(value) {
		if c := value[i]; c < 0x20 || c > 0x7e {
			return fmt.Errorf("header key %q contains value with non-printable ASCII characters", clip(key))
		}
	}
	return nil
}

// CheckPair says what to do with one entry of an application's metadata: send it, leave
// it out because its name is the transport's, or fail the RPC with err.
func CheckPair(key, value string) (send bool, err error) {
	if IsReserved(key) {
		return false, nil
	}
	if err := ValidateKey(key); err != nil {
		return false, err
	}
	if err := ValidateValue(key, value); err != nil {
		return false, err
	}
	return true, nil
}

// isFieldName reports whether HTTP/2 allows name as the name of a field: a token of RFC 9110, section
// 5.6.2, without upper case. Every name that ValidateKey allows is one.
func isFieldName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isKeyByte(c) && strings.IndexByte("!#$%&'*+^`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}

func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
}
