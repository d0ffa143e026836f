// SPDX-License-Identifier: Apache-2.0

// Package telemetry tests package stats/opentelemetry against what programs use it with: the
// exporter for Prometheus, read over HTTP, and the exporter of traces over OTLP, to a
// collector in a process of its own. Exporter and collector use this module, too.
package telemetry
