// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMoveImports(t *testing.T) {
	const src = `import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)
const s = "=google.golang.org/grpc/interop/grpc_testing"`
	const want = `import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/published"
	testpb "google.golang.org/grpc/interop/published/grpc_testing"
)
const s = "=google.golang.org/grpc/interop/grpc_testing"`
	if diff := cmp.Diff(want, string(moveImports([]byte(src)))); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
}
