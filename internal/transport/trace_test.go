// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/transport/h2/trace"
)

func TestOpenTrace(t *testing.T) {
	if log, err := openTrace("", "json"); log != nil || err != nil {
		t.Errorf("without a place: %v, %v", log, err)
	}
	if log, err := openTrace(filepath.Join(t.TempDir(), "no", "such", "folder"), ""); log != nil || err == nil {
		t.Errorf("a file that can't be made: %v, %v", log, err)
	}
	for _, std := range []string{"stderr", "stdout"} {
		if log, err := openTrace(std, ""); log == nil || err != nil {
			t.Errorf("%s: %v, %v", std, log, err)
		}
	}
	name := filepath.Join(t.TempDir(), "trace")
	for _, options := range []string{"", "json, values"} {
		log, err := openTrace(name, options)
		if err != nil {
			t.Fatal(err)
		}
		log.Open(1, "client", "a", "b", trace.State{})
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(string(text), "\n")
	if !strings.Contains(first, " client a-b open | ") || !strings.HasPrefix(second, `{"time":`) {
		t.Errorf("got %q", text)
	}
}
