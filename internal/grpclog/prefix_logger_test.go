// SPDX-License-Identifier: Apache-2.0

package grpclog_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc/grpclog"
	internal "google.golang.org/grpc/internal/grpclog"
)

func TestPrefix(t *testing.T) {
	var b bytes.Buffer
	grpclog.SetLoggerV2(grpclog.NewLoggerV2WithVerbosity(&b, io.Discard, io.Discard, 1))
	var none *internal.PrefixLogger
	for _, p := range []*internal.PrefixLogger{none, internal.NewPrefixLogger(grpclog.Component("part"), "[one] ")} {
		p.Infof("%d", 1)
		p.Warningf("%d", 2)
		p.Errorf("%d", 3)
		if !p.V(1) || p.V(2) {
			t.Error("V is wrong")
		}
	}
	got := b.String()
	for _, want := range []string{" 1\n", " 2\n", " 3\n", " [part] [one] 1\n", " [part] [one] 2\n", " [part] [one] 3\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}
