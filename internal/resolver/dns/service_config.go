// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	// txtPrefix goes in front of the host's name for the TXT lookup.
	txtPrefix = "_grpc_config."
	// attribute begins the TXT record that is meant for gRPC.
	attribute = "grpc_config="
	// language is this implementation's name in clientLanguage.
	language = "go"
)

// choice is one service config and the clients that it is for (gRFC A2). A condition
// that is absent holds.
type choice struct {
	ClientLanguage []string        `json:"clientLanguage"`
	Percentage     *int            `json:"percentage"`
	ClientHostname []string        `json:"clientHostname"`
	ServiceConfig  json.RawMessage `json:"serviceConfig"`
}

// hasConfig says whether there is something to choose.
func (c choice) hasConfig() bool {
	return len(c.ServiceConfig) > 0 && string(c.ServiceConfig) != "null"
}

// chooseConfig returns the JSON of the first service config that is for this client,
// empty when there is none. Package net has joined the strings of each record.
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

// isNamed says whether this machine is among the names. One that cannot tell its name
// is not.
func (b *Builder) isNamed(names []string) bool {
	name, err := b.Hostname()
	return err == nil && slices.Contains(names, name)
}
