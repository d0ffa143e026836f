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
	// InvalidSecurityLevel is the level of an AuthInfo that does not set one.
	InvalidSecurityLevel SecurityLevel = iota
	// NoSecurity: plaintext.
	NoSecurity
	// IntegrityOnly: bytes can be read, but not changed without detection.
	IntegrityOnly
	// PrivacyAndIntegrity: bytes can neither be read, nor changed without detection.
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

// CommonAuthInfo holds what every AuthInfo should have. Types that implement AuthInfo embed it.
//
// Experimental: this API may change in a later release.
type CommonAuthInfo struct {
	SecurityLevel SecurityLevel
}

// GetCommonAuthInfo returns c. Types that embed c have the method too.
func (c CommonAuthInfo) GetCommonAuthInfo() CommonAuthInfo { return c }

// CheckSecurityLevel returns an error if ai has a lower level than level. It returns nil
// for an ai without CommonAuthInfo or with InvalidSecurityLevel, because such types are
// older than the levels. It returns an error for a nil ai.
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
