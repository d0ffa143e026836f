// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"io"
	"os"
	"strings"

	"google.golang.org/grpc/internal/transport/h2/trace"
)

// openTrace opens the log that where names. It returns nil if where is empty. A file stays open for as long
// as the process runs.
func openTrace(where, options string) (*trace.Log, error) {
	var w io.Writer
	switch where {
	case "":
		return nil, nil
	case "stderr":
		w = os.Stderr
	case "stdout":
		w = os.Stdout
	default:
		// Its lines may be about what others must not read.
		f, err := os.OpenFile(where, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		w = f
	}
	var o trace.Options
	for word := range strings.SplitSeq(options, ",") {
		switch strings.TrimSpace(word) {
		case "json":
			o.JSON = true
		case "values":
			o.Values = true
		case "":
		default:
			logger.Warningf("GRPC_GO_HTTP2_TRACE_OPTIONS: %q is neither json nor values", word)
		}
	}
	return trace.New(w, o), nil
}
