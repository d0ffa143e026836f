// SPDX-License-Identifier: Apache-2.0

// Package serviceconfig parses service configs (grpc/doc/service_config.md, gRFC A2,
// A6, A24) into typed values.
package serviceconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
)

// MethodConfig is the part of a service config for one method. A nil field means that the service
// config does not set it.
type MethodConfig struct {
	// WaitForReady is the default for the call option of that name.
	WaitForReady *bool
	// Timeout limits the duration of the RPC. If the context's deadline is earlier, that one
	// counts.
	Timeout *time.Duration
	// MaxReqSize and MaxRespSize limit the size of a message, in bytes before compression. If the
	// limit of the call option is smaller, that one counts. A negative limit lets no message pass.
	MaxReqSize  *int
	MaxRespSize *int
	// RetryPolicy is nil for methods that are not retried.
	RetryPolicy *RetryPolicy
	// HedgingPolicy is nil for methods that are not hedged, such as all that are retried.
	HedgingPolicy *HedgingPolicy
}

// RetryPolicy is a retry policy of gRFC A6.
type RetryPolicy struct {
	// MaxAttempts includes the first attempt. It is 2 or more. The channel limits it.
	MaxAttempts int
	// InitialBackoff, MaxBackoff and BackoffMultiplier determine the pause before the n-th retry:
	// min(InitialBackoff * BackoffMultiplier^(n-1), MaxBackoff), with a random deviation of up to
	// 20 %. All are above zero.
	InitialBackoff    time.Duration
	MaxBackoff        time.Duration
	BackoffMultiplier float64
	// RetryableStatusCodes is not empty.
	RetryableStatusCodes map[codes.Code]bool
}

// HedgingPolicy is a hedging policy of gRFC A6.
type HedgingPolicy struct {
	// MaxAttempts includes the first attempt. It is 2 or more. The channel limits it.
	MaxAttempts int
	// HedgingDelay is the time from one attempt to the next; 0 sends all attempts at once.
	HedgingDelay time.Duration
	// NonFatalStatusCodes are the codes that do not end the RPC as long as other attempts are under
	// way or will follow.
	NonFatalStatusCodes map[codes.Code]bool
}

// methodJSON is an entry of "methodConfig".
type methodJSON struct {
	Name                    []nameJSON
	WaitForReady            *bool
	Timeout                 *Duration
	MaxRequestMessageBytes  *byteCount
	MaxResponseMessageBytes *byteCount
	RetryPolicy             *retryJSON
	HedgingPolicy           *hedgingJSON
}

type nameJSON struct {
	Service string
	Method  string
}

type retryJSON struct {
	MaxAttempts          int
	InitialBackoff       Duration
	MaxBackoff           Duration
	BackoffMultiplier    float64
	RetryableStatusCodes []codes.Code
}

type hedgingJSON struct {
	MaxAttempts         int
	HedgingDelay        Duration
	NonFatalStatusCodes []codes.Code
}

func (m *methodJSON) parse() (MethodConfig, error) {
	c := MethodConfig{
		WaitForReady: m.WaitForReady,
		Timeout:      (*time.Duration)(m.Timeout),
		MaxReqSize:   (*int)(m.MaxRequestMessageBytes),
		MaxRespSize:  (*int)(m.MaxResponseMessageBytes),
	}
	var err error
	switch {
	case m.RetryPolicy != nil:
		// A6 allows only one of the two policies. If both are set, the older one, RetryPolicy,
		// counts, so that programs which worked before there was hedging still do.
		c.RetryPolicy, err = m.RetryPolicy.parse()
	case m.HedgingPolicy != nil:
		c.HedgingPolicy, err = m.HedgingPolicy.parse()
	}
	return c, err
}

func (h *hedgingJSON) parse() (*HedgingPolicy, error) {
	// A6: "MUST be specified and MUST be a JSON integer value greater than 1".
	if h.MaxAttempts < 2 {
		return nil, fmt.Errorf("hedgingPolicy: maxAttempts is %d, must be at least 2", h.MaxAttempts)
	}
	if h.HedgingDelay < 0 {
		return nil, errors.New("hedgingPolicy: hedgingDelay is negative")
	}
	p := &HedgingPolicy{
		MaxAttempts:         h.MaxAttempts,
		HedgingDelay:        time.Duration(h.HedgingDelay),
		NonFatalStatusCodes: make(map[codes.Code]bool, len(h.NonFatalStatusCodes)),
	}
	for _, c := range h.NonFatalStatusCodes {
		p.NonFatalStatusCodes[c] = true
	}
	return p, nil
}

// path returns the key of Parsed.Methods for the name.
func (n nameJSON) path() (string, error) {
	switch {
	case n.Service != "":
		return "/" + n.Service + "/" + n.Method, nil
	case n.Method != "":
		return "", fmt.Errorf("cannot combine empty 'service' and non-empty 'method' (%q)", n.Method)
	}
	return "", nil
}

func (r *retryJSON) parse() (*RetryPolicy, error) {
	if fault := r.fault(); fault != "" {
		return nil, fmt.Errorf("invalid retry policy (%+v): %s", r, fault)
	}
	p := &RetryPolicy{
		MaxAttempts:          r.MaxAttempts,
		InitialBackoff:       time.Duration(r.InitialBackoff),
		MaxBackoff:           time.Duration(r.MaxBackoff),
		BackoffMultiplier:    r.BackoffMultiplier,
		RetryableStatusCodes: make(map[codes.Code]bool, len(r.RetryableStatusCodes)),
	}
	for _, c := range r.RetryableStatusCodes {
		p.RetryableStatusCodes[c] = true
	}
	return p, nil
}

// fault returns what is wrong with the policy, or "" if it is valid.
func (r *retryJSON) fault() string {
	switch {
	case r.MaxAttempts < 2: // A6: "MUST be a JSON integer value greater than 1"
		return "maxAttempts must be at least 2"
	case r.InitialBackoff <= 0 || r.MaxBackoff <= 0 || r.BackoffMultiplier <= 0:
		return "initialBackoff, maxBackoff and backoffMultiplier must be above 0"
	case len(r.RetryableStatusCodes) == 0:
		return "retryableStatusCodes must not be empty"
	}
	return ""
}

// byteCount is a number of bytes. In JSON it may be a number or a string. A number above the
// greatest int becomes that, as long as it fits an int64.
type byteCount int

func (c *byteCount) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	text := string(b)
	if b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%s is not a number of bytes", b)
	}
	*c = byteCount(max(min(n, math.MaxInt), -1))
	return nil
}
