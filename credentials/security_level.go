// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"fmt"
)

// SecurityLevel says how a connection is protected. A greater level includes the
// smaller ones.
//
// Experimental: this API may change in a later release.
type SecurityLevel int

const (
	// InvalidSecurityLevel is the level of those who don't tell.
	InvalidSecurityLevel SecurityLevel = iota
	// NoSecurity: plaintext.
	NoSecurity
	// IntegrityOnly: nobody can change the bytes.
	IntegrityOnly
	// PrivacyAndIntegrity: nobody can read or change the bytes.
	PrivacyAndIntegrity
)

// String returns the level's name.
func (s SecurityLevel) String() string {
	switch s {
	case NoSecurity:
		return "NoSecurity"
	case IntegrityOnly:
		return "IntegrityOnly"
	case PrivacyAndIntegrity:
		return "PrivacyAndIntegrity"
	}
	return fmt.Sprintf("invalid SecurityLevel: %d", int(s))
}

// CommonAuthInfo is to be embedded in AuthInfos.
//
// Experimental: this API may change in a later release.
type CommonAuthInfo struct {
	SecurityLevel SecurityLevel
}

// GetCommonAuthInfo returns c, through any type that embeds it.
func (c CommonAuthInfo) GetCommonAuthInfo() CommonAuthInfo { return c }

// CheckSecurityLevel returns an error if ai has a lower level than wanted. An ai
// without CommonAuthInfo, or with InvalidSecurityLevel, passes: such types are older
// than the levels. A nil ai fails.
//
// Experimental: this API may change in a later release.
func CheckSecurityLevel(ai AuthInfo, level SecurityLevel) error {
	if ai == nil {
		return errors.New("AuthInfo is nil")
	}
	common, ok := ai.(interface{ GetCommonAuthInfo() CommonAuthInfo })
	if !ok {
		return nil
	}
	has := common.GetCommonAuthInfo().SecurityLevel
	if has == InvalidSecurityLevel || has >= level {
		return nil
	}
	return fmt.Errorf("requires SecurityLevel %v; connection has %v", level, has)
}
