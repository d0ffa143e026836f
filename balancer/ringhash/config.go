// SPDX-License-Identifier: Apache-2.0

package ringhash

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "ring_hash_experimental"

const (
	defaultMinSize = 1024
	defaultMaxSize = 4096
	// largest is the largest ring size that a configuration may have.
	largest = 8 << 20
)

// config is the policy's configuration (gRFC A42, A76).
type config struct {
	serviceconfig.LoadBalancingConfig

	minSize, maxSize uint64
	header           string // in lower case; "" means that the hash comes from xDS
}

// parseConfig parses a configuration. If hashHeader is false, it ignores requestHashHeader.
func parseConfig(js json.RawMessage, hashHeader bool) (*config, error) {
	raw := struct {
		MinRingSize       uint64 `json:"minRingSize"`
		MaxRingSize       uint64 `json:"maxRingSize"`
		RequestHashHeader string `json:"requestHashHeader"`
	}{}
	if err := json.Unmarshal(js, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if !hashHeader {
		raw.RequestHashHeader = ""
	}
	c := &config{minSize: raw.MinRingSize, maxSize: raw.MaxRingSize, header: strings.ToLower(raw.RequestHashHeader)}
	if c.minSize == 0 {
		c.minSize = defaultMinSize
	}
	if c.maxSize == 0 {
		c.maxSize = defaultMaxSize
	}
	if c.minSize > largest || c.maxSize > largest {
		return nil, fmt.Errorf("%s: a ring of %d to %d entries; %d is the limit", Name, c.minSize, c.maxSize, largest)
	}
	if c.minSize > c.maxSize {
		return nil, fmt.Errorf("%s: minRingSize is %d, above maxRingSize of %d", Name, c.minSize, c.maxSize)
	}
	if !isTextHeader(c.header) {
		return nil, fmt.Errorf("%s: requestHashHeader %q is not the name of a header with text", Name, raw.RequestHashHeader)
	}
	return c, nil
}

// limit reduces both sizes to at most size.
func (c *config) limit(size uint64) {
	c.minSize, c.maxSize = min(c.minSize, size), min(c.maxSize, size)
}

// isTextHeader reports whether name is "" or a header name that does not end in "-bin".
func isTextHeader(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return !strings.HasSuffix(name, "-bin")
}
