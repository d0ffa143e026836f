// SPDX-License-Identifier: Apache-2.0

package checkout

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
)

var versionConst = regexp.MustCompile(`(?m)^const Version = "([^"]+)"$`)

// PublishedVersion returns the published release that the module in folder top stands in for, such
// as "v1.2.3". Only the constant in version.go says it; programs that link package grpc use that
// constant itself.
func PublishedVersion(top string) (string, error) {
	text, err := os.ReadFile(filepath.Join(top, "version.go"))
	if err != nil {
		return "", err
	}
	m := versionConst.FindSubmatch(text)
	if m == nil {
		return "", errors.New("version.go has no constant Version")
	}
	return "v" + string(m[1]), nil
}
