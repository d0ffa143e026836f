// SPDX-License-Identifier: Apache-2.0

// Package genproto is empty. The file beside this one, which is never built, has go.mod
// require a version of google.golang.org/genproto from after googleapis/rpc and
// googleapis/api became modules of their own. A program with an older one in its module
// graph would find the package googleapis/rpc/status in two modules, and not build
// ("ambiguous import").
package genproto
