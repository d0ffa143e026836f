// SPDX-License-Identifier: Apache-2.0

//go:build grpctrace

// Package nettrace has nothing to do in a program that is built with the tag grpctrace:
// package grpc records RPCs itself.
package nettrace
