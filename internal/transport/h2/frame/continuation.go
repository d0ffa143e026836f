// SPDX-License-Identifier: Apache-2.0

package frame

// ContinuationFrame is a CONTINUATION payload, RFC 9113 section 6.10.
type ContinuationFrame struct {
	// Fragment is the next part of the field block: all of the payload.
	Fragment   []byte
	EndHeaders bool
}

// ParseContinuation reads the payload p of a CONTINUATION frame. The caller checks that the frame
// continues an open field block of the same stream.
func ParseContinuation(h Header, p []byte) (ContinuationFrame, error) {
	if err := h.checkContinuation(); err != nil {
		return ContinuationFrame{}, err
	}
	return ContinuationFrame{Fragment: p, EndHeaders: h.Flags.Has(FlagEndHeaders)}, nil
}

func (h Header) checkContinuation() error { return h.needStream() }
