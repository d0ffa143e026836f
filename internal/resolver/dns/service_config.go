// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	// txtPrefix precedes the host's name in the TXT lookup.
	txtPrefix = "_grpc_config."
	// attribute is the prefix of the TXT record that is meant for gRPC.
	attribute = "grpc_config="
	// language is this implementation's name in clientLanguage.
	language = "go"
)

// choice is one service config and the conditions on clients that use it (gRFC A2). A condition
// that is absent is true.
type choice struct {
	ClientLanguage []string        `json:"clientLanguage"`
	Percentage     *int            `json:"percentage"`
	ClientHostname []string        `json:"clientHostname"`
	ServiceConfig  json.RawMessage `json:"serviceConfig"`
}

// hasConfig reports whether the choice has a service config.
func (c choice) hasConfig() bool {
	return len(c.ServiceConfig) > 0 && string(c.ServiceConfig) != "null"
}

// chooseConfig returns the JSON of the first service config whose conditions this client meets, or
// "" if there is none. Package net has joined the strings of each record.
func (b *Builder) chooseConfig(records []string) (string, error) {
	for _, record := range records {
		list, found := strings.CutPrefix(record, attribute)
		if !found {
			continue
		}
		var choices []choice
		if err := json.Unmarshal([]byte(list), &choices); err != nil {
			return "", fmt.Errorf("dns: the service config of the TXT record: %w", err)
		}
		for _, c := range choices {
			if c.hasConfig() && b.applies(c) {
				return string(c.ServiceConfig), nil
			}
		}
		return "", nil
	}
	return "", nil
}

func (b *Builder) applies(c choice) bool {
	if len(c.ClientLanguage) > 0 && !slices.ContainsFunc(c.ClientLanguage, isOurs) {
		return false
	}
	if c.Percentage != nil && b.Percent() > *c.Percentage {
		return false
	}
	return len(c.ClientHostname) == 0 || b.isNamed(c.ClientHostname)
}

func isOurs(name string) bool { return strings.EqualFold(name, language) }

// isNamed reports whether this machine's name is in names. It returns false if Hostname fails.
func (b *Builder) isNamed(names []string) bool {
	name, err := b.Hostname()
	return err == nil && slices.Contains(names, name)
}
